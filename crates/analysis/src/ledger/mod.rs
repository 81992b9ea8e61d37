//! The ledger: every millisecond of a run under one cause.
//!
//! The critical path is walked back from the command's end through threads and nodes (`walk`): at each
//! moment, who was waited for? Its stretches lie end to end, so the rows sum to the whole by
//! construction. The kernel's counters then say what a stretch really was (`weigh`): a thread that
//! seemed to work had no processor, a wire that seemed slow had a window that was full. What no record
//! covers stays unattributed, and what is shorter than the clocks' error is called that.

mod cause;
mod disks;
mod explain;
mod hop;
mod outline;
mod rows;
mod run;
mod samples;
mod segment;
#[cfg(test)]
mod tests;
mod walk;
mod weave;
mod weigh;
mod world;

pub use cause::Cause;
pub use disks::DiskUse;
pub use explain::{Ledger, Undecided, explain};
pub use outline::{Stretch, outline};
pub use rows::{Fix, Row};
pub use run::Run;
pub use segment::{Place, Segment};
