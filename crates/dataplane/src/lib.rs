//! The data plane of a node in a copy, on head and agents: lanes move encrypted blocks, writers and
//! stores put them on disk, sources read them.
//!
//! It uses plain threads and blocking calls: one thread per lane moves blocks, one or a few write
//! them. [`copy_threads`] starts and joins them; all of them share the [`context`] of the copy.
//!
//! | module | what is in it |
//! |---|---|
//! | `lane` | the thread of one lane: obeys the lane's relay machine with sockets |
//! | `feed`, `forwarder` | what a lane sends: its own blocks, and blocks that still arrive |
//! | `writer` | the threads that open, verify and write the blocks that have arrived |
//! | `thread_count`, `write_waits` | how many threads read and write; how long they sleep in writes |
//! | [`source`], [`tree`] | what is read: files, streams, directory trees |
//! | [`store`], `read_back` | what is written: files, stripes, trees, pipes; and its check |
//! | [`block_index`], [`manifest`] | digests of blocks that are kept for later copies, and names |
//! | [`recorder`], `gauge`, `usage`, `awake` | traces and measurements |
//! | [`budget`], `pool`, `calls`, [`pace`] | memory, buffers, disk calls in progress, emulated disks |
//! | `page_cache`, `shell`, `attributes` | read-ahead and write-back; commands; ACLs and attributes |
//! | [`compress`], `faults` | the encodings of blocks; the faults that tests inject (`--inject`) |
//!
//! # Where to change what
//!
//! - `lane/` obeys the relay of a lane; `context/lane_handle.rs` says when its link is silent.
//! - `store/` has the sinks (`interface.rs` is the trait, `mod.rs` opens one), `source/` the
//!   sources on the head.
//! - A new kind of single file, such as one in an archive, implements [`Content`] and
//!   [`RemoteFile`] (`source/content.rs`); nothing else of a copy needs to know it. Errors here
//!   have no hints for users: callers above give them.
//! - A rerun of a tree: `store/tree/status.rs` and `block_index/trees.rs` compare by size and
//!   time, `tree/remainder.rs` is what is left; names of changes (`-v`) come from `status.rs` and
//!   the sweeper of `--delete`.
//! - When files of a tree become stable and get their names: `store/tree/waiting.rs` (batches)
//!   and `placing.rs` (steps).
//! - What an interrupted copy keeps: `store/left.rs`. Manifests of names: `manifest.rs`.

#![forbid(unsafe_code)]

mod attributes;
mod awake;
pub mod block_index;
pub mod budget;
mod calls;
pub mod compress;
pub mod context;
pub mod copy_threads;
mod faults;
mod feed;
mod forwarder;
mod gauge;
mod lane;
pub mod manifest;
pub mod pace;
mod page_cache;
mod pool;
mod read_back;
pub mod recorder;
mod shell;
pub mod source;
pub mod store;
#[cfg(test)]
mod tests;
mod thread_count;
pub mod tree;
mod usage;
mod write_waits;
mod writer;

pub use awake::Awake;
pub use calls::Calls;
pub use faults::Faults;
pub use read_back::read_back;
pub use thread_count::processors;
pub use usage::Usage;
