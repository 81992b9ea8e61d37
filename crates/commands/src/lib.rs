//! The commands as recipes: a request becomes a plan, a session with agents, and a result.

#![forbid(unsafe_code)]

pub mod args;
pub mod chain;
pub mod cp;
pub mod cp_options;
pub mod down;
pub mod elsewhere;
pub mod ends;
pub mod exec;
pub mod explain;
pub mod forecast;
pub mod gathering;
pub mod incremental;
pub mod injections;
pub mod join;
pub mod lab_command;
pub mod lab_result;
pub mod lab_run;
pub mod limit;
pub mod mount_command;
pub mod net;
pub mod overtime;
pub mod plan;
pub mod progress;
pub mod progress_lines;
pub mod report;
pub mod shape;
pub mod source;
pub mod status;
pub mod topology;
pub mod trace;
pub mod up;
