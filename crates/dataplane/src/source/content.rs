//! The interface of sources. A source within another one passes on `is_unchanged`, `stamps`,
//! `accept` and `device`.

use garland_core::plan::Layout;
use garland_protocol::copy::{Absence, FileStamp, StreamEnd};
use thiserror::Error;

/// Why a block cannot be sent.
#[derive(Debug, Error)]
pub enum FeedError {
    /// The block cannot be read: the name of the source or store, and the reason.
    #[error("cannot read {0}: {1}")]
    Read(String, String),
    /// The source, or the node's stored file, has changed; its name.
    #[error("{0} changed while it was copied")]
    Changed(String),
    /// What the source has in the place of the block is another than what was sent before; the name
    /// of the file that has changed. The rest of the source is as it was.
    #[error("it lacks a block of {0}, which changed after it was sent")]
    Outdated(String),
    /// The block is no longer available: a stream has passed it, or files of a tree are missing.
    /// The name of the source or store, and the index of the block.
    #[error("cannot read block {1} of {0}: it is no longer available")]
    Gone(String, u64),
    /// A stream has ended early, or a remote source has failed; the message.
    #[error("{0}")]
    Broken(String),
    /// The block has not arrived from a remote source yet; it may be requested again.
    #[error("the block has not arrived yet")]
    NotYet,
    /// The block does not exist: the source has ended before.
    #[error("cannot read the block: the source has only {} blocks", .0.blocks)]
    Ended(StreamEnd),
}

/// A source, which is read by blocks.
pub trait Content: Send + Sync {
    /// Reads block `index` of `layout` into `bytes`, whose length is that of the block. A block may
    /// be read several times, and must not change.
    ///
    /// # Errors
    /// When it cannot be read, or has changed.
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError>;

    /// Reads block `index` of `layout`, which need not be that of the copy, to learn what the bytes
    /// are like. That is no reading of the copy: whether the block has changed is not judged, and
    /// an error has no effect on the copy.
    ///
    /// # Errors
    /// When it cannot be read.
    fn sample(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        self.read(layout, index, bytes)
    }

    /// Waits until block `index` can be read, and returns its length in bytes. Gives up when
    /// `stale` returns true. Only streams and remote sources wait here.
    ///
    /// # Errors
    /// When `stale` returned true, the source ends before the block, or a stream no longer has it.
    fn await_block(
        &self,
        layout: Layout,
        index: u64,
        _stale: &dyn Fn() -> bool,
    ) -> Result<u32, FeedError> {
        Ok(layout.block_length(index))
    }

    /// Returns how many blocks from block `index` on lie entirely in a hole of a file, so that they
    /// are zeros without being read; at most as many as a window of digests has.
    fn holes(&self, _layout: Layout, _index: u64) -> u64 {
        0
    }

    /// Returns the digest of block `index` of `layout`, if what `read` returned was verified by it
    /// already.
    fn verified(&self, _layout: Layout, _index: u64) -> Option<[u8; 32]> {
        None
    }

    /// Allows the source to drop the blocks before `index`: all nodes have them.
    fn release(&self, _index: u64) {}

    /// Returns the length in bytes; for a stream, the number of bytes so far.
    fn length(&self) -> u64;

    /// Returns the name of the source for messages.
    fn name(&self) -> String;

    /// Returns the name, for messages, of the file that has changed, after block `index` was found
    /// to differ from an earlier reading. By default it is the name of the source.
    fn changed(&self, _layout: Layout, _index: u64) -> String {
        self.name()
    }

    /// Returns whether the source is unchanged since it was opened.
    fn is_unchanged(&self) -> bool;

    /// Returns the present stamps of the source's files, if their lengths are as before; none for a
    /// source whose changes stamps do not show.
    fn stamps(&self) -> Option<Vec<FileStamp>> {
        None
    }

    /// Takes the source with these `stamps` for unchanged from now on: it was read again.
    fn accept(&self, _stamps: &[FileStamp]) {}

    /// Returns which parts of the source are not copied; none if the source is of a kind that
    /// cannot be copied in part.
    fn absence(&self) -> Option<Absence> {
        None
    }

    /// Returns the device number of the disk that the source is on, if any.
    fn device(&self) -> Option<u64>;
}

/// The contents of a single file that is not on this machine: an object, a URL, or what nodes hold.
pub trait RemoteFile: Content {
    /// Returns the file name (raw bytes); `None` if it has none.
    fn file_name(&self) -> Option<Vec<u8>>;

    /// Returns the permission bits of copies.
    fn mode(&self) -> u32;

    /// Returns the modification time, if known: seconds and nanoseconds since the start of 1970.
    fn modified(&self) -> Option<(i64, u32)>;

    /// Returns the digests of the blocks of `layout`, if they are known without reading the file.
    fn digests(&self, _layout: Layout) -> Option<&[[u8; 32]]> {
        None
    }
}
