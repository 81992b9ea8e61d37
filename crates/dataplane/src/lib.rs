//! The data plane of a node in a copy, on head and agents: lanes move encrypted blocks, writers and
//! stores put them on disk, sources read them.
//!
//! It uses plain threads and blocking calls: one thread per lane moves blocks, one writes them.

#![forbid(unsafe_code)]

pub mod attributes;
pub mod awake;
pub mod block_index;
pub mod budget;
pub mod calls;
pub mod compress;
pub mod context;
pub mod copy_threads;
pub mod faults;
mod feed;
mod forwarder;
pub mod gauge;
pub mod lane;
pub mod manifest;
pub mod pace;
pub mod page_cache;
pub mod pool;
pub mod read_back;
pub mod recorder;
pub mod shell;
pub mod source;
pub mod store;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod usage;
mod write_waits;
mod writer;
mod writer_count;

pub use block_index::{Opened, Records};
pub use compress::Packing;
pub use pace::Pace;
pub use recorder::Tracing;
pub use source::{Content, FeedError, RemoteFile, Source, SourceError, StreamSource, join};
pub use tree::{
    LeftOut, ObjectFile, Objects, ScanError, ScanOptions, Tally, TreeSource, Unread, name_of,
};
