//! Values of job farms: jobs, job lists, and records of the jobs' results.
//!
//! An engine runs the jobs of a list. All engines produce the same records, and this module is
//! independent of the engine.

mod job;
mod journal;
pub mod last_words;
pub mod list;
mod record;
pub mod staging;
mod text;

pub use job::{Checkpoint, Command, Job};
pub use journal::Journal;
pub use record::{Engine, Move, MoveKind, Outcome, Record};
pub use text::Text;
