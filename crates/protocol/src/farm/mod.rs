//! Farms of jobs: orders of the head, the machine that gives jobs to nodes ([`dispatch`]), and
//! policies of placing them ([`placement`]).

mod access;
pub mod dispatch;
mod jobs;
pub mod placement;

pub use access::{FarmAccess, FarmNode};
pub use jobs::{
    COMMAND_MAX, FarmEvent, FarmOrder, JOBS_AT_ONCE_MAX, NodeFacts, OUTPUT_FILES_MAX, OUTPUT_HALF,
    Opening, OutputFile, Task as FarmTask, TaskEnd,
};
