//! Garland's values: what exists (`cluster`), what will happen (`plan`), what happened (`trace`), how a
//! tree of files is one stream (`tree`), and jobs (`farm`). Nothing here opens a file, a socket or a
//! thread, or reads a clock or the environment.

#![forbid(unsafe_code)]

pub mod cluster;
pub mod farm;
pub mod form;
pub mod histogram;
pub mod nearest;
pub mod nic_facts;
pub mod plan;
pub mod printable;
pub mod splitmix;
pub mod trace;
pub mod tree;
pub mod units;
