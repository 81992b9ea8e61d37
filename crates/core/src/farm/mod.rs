//! Many jobs on many nodes: what a job is, what becomes of it, and which node it goes to.
//!
//! Jobs come from a list, an engine runs them, and each engine gives the same records. Nothing here
//! knows how an engine does it.

pub mod job;
pub mod journal;
pub mod last_words;
pub mod list;
pub mod record;
pub mod staging;
mod text;

pub use job::{Command, Job};
pub use journal::Journal;
pub use record::{Engine, Outcome, Record};
pub use text::Text;
