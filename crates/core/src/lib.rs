//! Garland's pure heart: what exists (`cluster`), what will happen (`plan`), the machines that make
//! it happen (`proto`), many jobs on many nodes (`farm`), what happened (`trace`) and what measurements say (`analysis`), and how a tree
//! of files is one stream (`tree`). Nothing here opens a file, a socket or a thread, reads a clock or
//! the environment: time and bytes come in as arguments, orders go out as values.

#![forbid(unsafe_code)]

pub mod analysis;
pub mod cluster;
pub mod farm;
pub mod plan;
pub mod printable;
pub mod proto;
pub mod trace;
pub mod tree;
pub mod units;
