//! Determines which blocks of a copy its destination already has.
//!
//! A file is identified by the digests of its blocks. `records` stores the digests of files that
//! were written or read here, with a stamp by which later changes are detected; files without a
//! valid record are read. `reuse` copies blocks that are present into the new file. Files of trees
//! (`trees`) are always read: there would be too many records.

pub mod holding;
mod records;
mod reuse;
pub mod stamp;
pub mod trees;

pub use records::{Opened, Records};
pub use reuse::{Bringing, Existing, Reuse, bring, sink_of, sink_of_tree};
