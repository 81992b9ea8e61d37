//! A named pipe: a stream, so blocks come in order and nothing can be taken back.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::confine::Root;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::outflow::Outflow;
use super::{Store, StoreError};
use crate::recorder::Collector;

/// A reader is waited for so many times so long.
const LOOKS: u32 = 500;
const LOOK: Duration = Duration::from_millis(20);

/// A pipe that another program reads.
pub struct FifoStore {
    place: OwnedFd,
    path: PathBuf,
    outflow: OnceLock<Outflow>,
    over: AtomicBool,
}

impl FifoStore {
    /// The pipe at `path`; its reader may come later.
    pub fn open(root: &Root, path: &Path) -> Result<Self, StoreError> {
        let place = root.find(path);
        let place = place.map_err(|error| StoreError::path("opening", path, &error))?;
        let path = path.to_owned();
        Ok(Self { place, path, outflow: OnceLock::new(), over: AtomicBool::new(false) })
    }

    /// The pipe, once somebody reads it.
    fn outflow(&self) -> io::Result<&Outflow> {
        if let Some(outflow) = self.outflow.get() {
            return Ok(outflow);
        }
        let again = format!("/proc/self/fd/{}", self.place.as_raw_fd());
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        for _ in 0..LOOKS {
            match rustix::fs::open(again.as_str(), flags, Mode::empty()) {
                Ok(pipe) => {
                    let outflow = Outflow::into(pipe)?;
                    return Ok(self.outflow.get_or_init(|| outflow));
                }
                // It has no reader.
                Err(Errno::NXIO) if self.over.load(Ordering::Relaxed) => break,
                Err(Errno::NXIO) => std::thread::sleep(LOOK),
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("nobody has opened the pipe for reading"))
    }
}

impl Store for FifoStore {
    fn write_at(&self, _: u64, bytes: &[u8]) -> io::Result<()> {
        let outflow = self.outflow()?;
        outflow.write_all(bytes)?;
        // Nobody can tell whether it had enough.
        if outflow.is_closed() { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn commit(&self, _: &Collector) -> Result<(), StoreError> {
        let outflow = self.outflow();
        outflow.map_err(|error| StoreError::path("ending", &self.path, &error))?.close();
        Ok(())
    }

    fn abandon(&self) {
        self.stop();
    }

    fn is_holder(&self) -> bool {
        false
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.outflow.get().into_iter().for_each(Outflow::stop);
    }
}
