//! Which blocks of a copy its destination already has.
//!
//! A file is known by the digests of its blocks. `records` keeps those of files that were written
//! or read here, with a stamp that cannot be set back; files without a valid record are read. `ask`
//! (on the head) and `comparison` (on an agent) find out what a node has; `reuse` copies it into
//! the new file. If nodes can read the source themselves, each reads a part of it (`reader`), and
//! the head combines the digests (`parts`). The files of trees (`trees`) are always read: there
//! would be too many records.

pub mod holding;
pub mod records;
pub mod reuse;
pub mod stamp;
pub mod trees;

pub use records::{Opened, Records};
pub use reuse::{Bringing, Reuse, bring, sink_of, sink_of_tree};
pub use stamp::stamp;
