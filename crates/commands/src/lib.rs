//! The commands, one module each. The function `run` of a module turns arguments into a request,
//! and refuses options without effect. It turns the request into a plan, runs the plan in a session
//! with agents, and prints the result. Arguments are in [`args`]. Commands that measure are in
//! `garland-measure`, jobs in `garland-farm`.

#![forbid(unsafe_code)]

pub mod args;
pub mod cluster_key;
pub mod cp;
pub mod down;
pub mod exec;
pub mod explain;
pub mod forecast;
pub mod key;
pub mod lab_command;
pub mod lab_result;
pub mod lab_run;
pub mod mount_command;
pub mod net;
pub mod plan;
pub mod report;
pub mod runs;
pub mod spool;
pub mod status;
pub mod topology;
pub mod trace;
pub mod up;
