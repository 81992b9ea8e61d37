//! Names for content: `garland publish`, `get`, `names` and `unpublish`. A name stands for a manifest, which has
//! the digest of each block; standing agents keep the names. A copy of a name reads its blocks from several holders
//! at once, and verifies each.

#![forbid(unsafe_code)]

mod access;
pub mod args;
mod content;
mod follow;
pub mod get;
pub mod hand_over;
mod keepers;
pub mod list;
mod origin;
pub mod publish;
mod records;
pub mod unpublish;

pub use content::apart::main as reader_main;
