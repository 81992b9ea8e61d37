//! The interface of destinations.

use std::fs::File;
use std::io;

use garland_core::trace::Stage;
use garland_protocol::copy::{Absence, FileStamp};
use rustix::fs::fstat;

use super::StoreError;
use super::forget::forget;
use crate::calls::Calls;
use crate::recorder::Collector;
use crate::shell::Watcher;

/// The destination of a node's blocks. Several threads may write concurrently; each block is
/// written once.
///
/// The default methods suit a destination that accepts blocks in any order, and that can be read
/// back if it is a file. Methods that report properties ask the wrapped store, if there is one.
pub trait Store: Send + Sync {
    /// Returns the store that this one wraps, if any.
    fn wrapped(&self) -> Option<&dyn Store> {
        None
    }
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Fills `bytes` with the data that was written at `offset`.
    fn read_at(&self, _offset: u64, _bytes: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Uses files that are already in place for the block of `length` bytes at `offset`. Returns
    /// how many bytes at the beginning of the block need not be written. The caller reads the
    /// others with [`Store::read_at`] and writes them.
    fn bring(&self, _offset: u64, _length: usize) -> io::Result<usize> {
        Ok(0)
    }
    /// Writes `length` zeros at `offset`.
    fn write_zeros(&self, offset: u64, length: usize) -> io::Result<()> {
        static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
        let mut done = 0;
        while done < length {
            let step = ZEROS.len().min(length - done);
            self.write_at(offset + done as u64, &ZEROS[..step])?;
            done += step;
        }
        Ok(())
    }
    /// Leaves a hole of `length` bytes at `offset`, or writes zeros where holes are not supported.
    fn leave_hole(&self, offset: u64, length: usize) -> io::Result<()> {
        self.write_zeros(offset, length)
    }
    /// Whether blocks of zeros are left as holes, in whichever encoding they come: the source has
    /// holes, which its size on the disk was checked without, and a node that passes blocks on may
    /// send them as zeros.
    fn is_sparse(&self) -> bool {
        false
    }
    /// Whether the `length` bytes at `offset` are a hole: zeros that occupy nothing on the disk.
    fn has_hole(&self, _offset: u64, _length: usize) -> bool {
        false
    }
    /// Does the part of [`Store::commit`] that can be undone, and records the time it took.
    fn prepare(&self, _trace: &Collector) -> Result<(), StoreError> {
        Ok(())
    }
    /// Publishes the written data as a whole, and records the time it took. Called once, after the
    /// last block.
    fn commit(&self, trace: &Collector) -> Result<(), StoreError>;
    /// Returns the parts of a tree that could not be put in place; none if that is no tree.
    fn absence(&self) -> Option<Absence> {
        self.wrapped()?.absence()
    }
    /// Makes the written data stable and drops it from the page cache, so that later reads come
    /// from the medium. A store that cannot be read by blocks compares its files with the digests
    /// of the received bytes instead; it fails if `over` returns true, since the copy has ended.
    fn prove(&self, trace: &Collector, over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        if let Some(wrapped) = self.wrapped() {
            return wrapped.prove(trace, over);
        }
        let Some(file) = self.file() else {
            return Err(StoreError::refused("verify", self.name(), "nothing can be read back"));
        };
        trace
            .time(Stage::Fsync, || file.sync_all().and_then(|()| forget(file)))
            .map_err(|error| StoreError::path("verify", self.name(), &error))
    }
    /// Removes the written data, unless it was committed.
    fn abandon(&self) {}
    /// Returns whether the written data can be read back with [`Store::read_at`].
    fn is_holder(&self) -> bool {
        self.wrapped().map_or_else(|| self.file().is_some(), |wrapped| wrapped.is_holder())
    }
    /// Returns whether blocks must be written in order.
    fn is_ordered(&self) -> bool {
        self.wrapped().is_some_and(|wrapped| wrapped.is_ordered())
    }
    /// Returns whether several writes at a time take less time than one after another, since each
    /// waits for the disk.
    fn takes_several(&self) -> bool {
        self.wrapped().is_some_and(|wrapped| wrapped.takes_several())
    }
    /// Returns the name of the destination for messages.
    fn name(&self) -> String;
    /// Returns the path of the destination as raw bytes if it is a file, else its name.
    fn path(&self) -> Vec<u8> {
        self.wrapped().map_or_else(|| self.name().into_bytes(), |wrapped| wrapped.path())
    }
    /// Returns the device number of the disk that the store is on, if any.
    fn device(&self) -> Option<u64> {
        match self.wrapped() {
            Some(wrapped) => wrapped.device(),
            None => fstat(self.file()?).ok().map(|stat| stat.st_dev),
        }
    }
    /// Returns the file whose bytes have the same offsets as in the source, if there is one.
    fn file(&self) -> Option<&File> {
        self.wrapped()?.file()
    }
    /// Returns the stamp that [`file`](Self::file) had as soon as it got its final name, or was
    /// left for the next copy; `None` before that, and if it changed meanwhile.
    fn named_stamp(&self) -> Option<FileStamp> {
        self.wrapped()?.named_stamp()
    }
    /// Leaves the partial file for the next copy to resume, instead of removing it. Returns whether
    /// it did.
    fn leave(&self) -> bool {
        false
    }
    /// Returns the number of files and directories that were removed from the destination because
    /// the source does not have them.
    fn removed(&self) -> u64 {
        self.wrapped().map_or(0, |wrapped| wrapped.removed())
    }
    /// Removes the files that the commit replaced. Called after all nodes have committed.
    fn settle(&self) {}
    /// Restores the files that the commit replaced, unless they were removed by `settle`. Called
    /// when the copy fails.
    fn withdraw(&self) {}
    /// Returns a number that grows while a long call makes progress.
    fn steps(&self) -> u64 {
        self.wrapped().map_or(0, |wrapped| wrapped.steps())
    }
    /// Returns the calls in progress, if the store is on a disk. Other stores have none: a pipe
    /// that waits for its reader is not stuck.
    fn calls(&self) -> Option<&Calls> {
        self.wrapped()?.calls()
    }
    /// Sets the text of the manifest that is committed together with the data; ignored by stores
    /// without a manifest.
    fn attach(&self, text: Vec<u8>) {
        if let Some(wrapped) = self.wrapped() {
            wrapped.attach(text);
        }
    }
    /// Sets `watcher` to be called if the store fails between two calls.
    fn watch(&self, watcher: Watcher) {
        if let Some(wrapped) = self.wrapped() {
            wrapped.watch(watcher);
        }
    }
    /// Ends waits in calls of this store, and kills its command, if any. Called when the copy is
    /// over.
    fn stop(&self) {
        self.wrapped().into_iter().for_each(|wrapped| wrapped.stop());
    }
}
