//! A named pipe as a destination. It is a stream: blocks are written in order and cannot be
//! withdrawn.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_core::printable;
use garland_sys::confine;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::outflow::Outflow;
use super::{Store, StoreError};
use crate::recorder::Collector;

/// The maximum number of attempts to open a pipe that has no reader, at intervals of [`PAUSE`].
const ATTEMPTS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(20);

/// A pipe that another program reads.
pub struct FifoStore {
    place: OwnedFd,
    path: PathBuf,
    outflow: OnceLock<Outflow>,
    over: AtomicBool,
}

impl FifoStore {
    /// Returns a store for the pipe `place` (O_PATH), which is at `path`. It is opened later, since
    /// its reader may come later.
    pub fn new(place: OwnedFd, path: &Path) -> Self {
        let path = path.to_owned();
        Self { place, path, outflow: OnceLock::new(), over: AtomicBool::new(false) }
    }

    /// Returns the pipe, opened for writing. Waits at most 10 s for a reader.
    fn outflow(&self) -> io::Result<&Outflow> {
        if let Some(outflow) = self.outflow.get() {
            return Ok(outflow);
        }
        let again = confine::by_descriptor(&self.place);
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            match rustix::fs::open(again.as_str(), flags, Mode::empty()) {
                Ok(pipe) => {
                    let outflow = Outflow::into(pipe)?;
                    return Ok(self.outflow.get_or_init(|| outflow));
                }
                // ENXIO: the pipe has no reader.
                Err(Errno::NXIO) if self.over.load(Ordering::Relaxed) => break,
                Err(Errno::NXIO) => garland_sys::threads::sleep(PAUSE),
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("no process has opened the pipe for reading"))
    }
}

impl Store for FifoStore {
    fn write_at(&self, _: u64, bytes: &[u8]) -> io::Result<()> {
        let outflow = self.outflow()?;
        outflow.write_all(bytes)?;
        // A reader that ends early is an error: it has no exit code that would report success.
        if outflow.is_closed() { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    fn commit(&self, _: &Collector) -> Result<(), StoreError> {
        let outflow = self.outflow();
        outflow.map_err(|error| StoreError::path("close", self.name(), &error))?.close();
        Ok(())
    }

    fn abandon(&self) {
        self.stop();
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        printable::path(&self.path)
    }

    fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.outflow.get().into_iter().for_each(Outflow::stop);
    }
}
