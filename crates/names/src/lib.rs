//! Names for content: `garland publish`, `get`, `names` and `unpublish`. A name stands for a
//! manifest, which has the digest of each block; standing agents keep the names. A copy of a name
//! reads its blocks from several holders at once, and verifies each.
//!
//! # Where to change what
//!
//! - `keepers` asks for records, `hand_over` gives them to others before keepers end, `returned`
//!   tells agents that begin which names have ended, `access` says which right a command has.
//! - `follow` chooses which node follows which one if several fetch at the same time.
//! - `content/window.rs` decides from which holders blocks are read, in which order, and what is
//!   kept in memory; `mod.rs` there has the threads, `holder.rs` the kinds of holders, `apart.rs`
//!   the processes that read from FUSE file systems. Files of nodes: `mount/src/node_file.rs`.

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
pub mod returned;
pub mod unpublish;

pub use content::apart::main as reader_main;
