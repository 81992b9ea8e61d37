//! What is known of files without reading them again, and what of a copy is at its destination before
//! it begins.
//!
//! A file is known by its blocks' digests. `records` remembers those of files that were written or
//! read here, with a stamp that nobody can set back; whatever has no record that fits is read.
//! `ask` (the head) and `comparison` (an agent) find out what a node has; `reuse` brings it into the
//! new file. Where nodes see the source by themselves each reads a part of it (`reader`), and the head
//! puts together what they say (`parts`). Of trees (`trees`) the files are read: there would be too many records.

pub mod holding;
pub mod records;
pub mod reuse;
pub mod stamp;
pub mod trees;

pub use records::{Opened, Records};
pub use reuse::{Bringing, Reuse, bring, sink_of, sink_of_tree};
pub use stamp::stamp;
