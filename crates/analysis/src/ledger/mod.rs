//! The ledger: all time of a run, attributed to causes.
//!
//! The critical path is followed backwards from the command's end through threads and nodes
//! (`walk`). Its segments are contiguous, so the rows sum to the whole by construction. The
//! kernel's counters then refine the causes (`weigh`): a thread that seemed to work had no CPU, or
//! a wire that seemed slow had a full window. Time without records stays unattributed, and segments
//! shorter than the clocks' error are attributed to that error.

mod beginning;
mod cause;
mod disks;
mod explain;
mod faults;
mod hop;
mod outline;
mod rest;
mod rows;
mod run;
mod samples;
mod segment;
#[cfg(test)]
mod tests;
mod walk;
mod weave;
mod weigh;
mod wires;
mod world;

pub use cause::Cause;
pub use disks::DiskUse;
pub use explain::{Ledger, Undecided, explain};
pub use faults::{Fault, Fix, NoFix};
pub use outline::{Stretch, outline};
pub use rows::Row;
pub use run::{CompareWork, Run};
pub use segment::{Place, Segment};
