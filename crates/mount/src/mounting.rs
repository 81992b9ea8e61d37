//! Mounts, serves and unmounts the file system.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use fuser::{Config, INodeNo, Notifier, Session, SessionACL};
use garland_core::printable;
use garland_core::trace::Trace;
use garland_sys::channel::{Receiver, RecvTimeoutError, channel};
use garland_sys::event::{self, Wake};
use garland_sys::fuse::{self, FuseError};
use garland_sys::signal::Interrupts;
use garland_sys::threads;
use rustix::io::Errno;
use thiserror::Error;

use crate::fs::{Account, Files, Mount, TopFolder};
use crate::peer::{Peer, Reach};
use crate::recording::Recording;

/// The number of threads that handle the kernel's calls. Few suffice, since they never wait.
const THREADS: usize = 2;

/// The time for which to wait until the kernel has released an unmounted file system.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// The time for which the end of a mount waits until the nodes have what was written: a program
/// that was killed has not waited for it.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which the recording is saved if it has grown. If the mount is killed, its trace
/// lacks at most the last interval.
const SAVE_INTERVAL: Duration = Duration::from_secs(10);

/// The interval at which files that stay open are looked at, and what is held of them is sent.
const SENDING_INTERVAL: Duration = Duration::from_secs(1);

/// The number of attempts to unmount a directory in use before it is detached, [`UNMOUNT_INTERVAL`]
/// apart.
const UNMOUNT_ATTEMPTS: u32 = 5;
const UNMOUNT_INTERVAL: Duration = Duration::from_millis(40);

/// What to mount, and where.
pub struct MountJob {
    /// The directory to mount on.
    pub dir: PathBuf,
    /// The names of the nodes, in the order of the node list.
    pub names: Vec<String>,
    /// The name of the node that is this machine; `None` if this machine is none of the nodes.
    pub here: Option<String>,
    /// Finds the agent of a node and connects to it.
    pub reach: Reach,
    /// Whether payload is encrypted on the network.
    pub sealed: bool,
    /// Whether the nodes are emulated by a lab on this machine, so that they share its clock.
    pub emulated: bool,
}

/// Why a directory cannot be mounted or unmounted.
#[derive(Debug, Error)]
pub enum MountError {
    /// The directory is not suitable; the path and the reason.
    #[error("cannot mount on {0}: {1}")]
    Folder(String, String),
    /// A FUSE operation failed; what was tried, and the error.
    #[error("{0}: {1}")]
    Fuse(String, FuseError),
    /// Nothing is mounted on the directory; its path.
    #[error("cannot unmount {0}: nothing is mounted there")]
    NotMounted(String),
    /// The initial handshake with the kernel's FUSE failed.
    #[error("cannot negotiate with the kernel's FUSE: {0}")]
    Greeting(io::Error),
    /// Handling the kernel's calls failed; the directory, and the error.
    #[error("cannot serve {0}: {1}")]
    Serving(String, io::Error),
}

impl MountError {
    /// Returns whether the cause is that this user is not allowed to open `/dev/fuse`.
    #[must_use]
    pub fn is_device(&self) -> bool {
        matches!(self, Self::Fuse(_, FuseError::Device(_)))
    }

    /// Returns whether the cause is that nothing is mounted on the directory.
    #[must_use]
    pub fn is_not_mounted(&self) -> bool {
        matches!(self, Self::NotMounted(_))
    }
}

/// How a mount has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The mount was unmounted; no process was using it.
    Unmounted,
    /// The mount was detached while in use. Processes that still use it get errors.
    InUse,
}

/// The result of serving a mount until it ended.
#[derive(Clone, Debug)]
pub struct Served {
    /// How the mount has ended.
    pub ended: Ended,
    /// The counters of the mount at its end.
    pub account: Account,
}

/// A mount that is not served yet. Accesses block until [`Mounted::serve`] serves them.
pub struct Mounted {
    dir: PathBuf,
    session: Session<Files>,
    distrusted: Receiver<u64>,
    mount: Arc<Mount>,
    recording: Arc<Recording>,
}

/// Mounts on the directory of `job`. A dead mount that a killed process left there is removed
/// first.
///
/// # Errors
/// When the path is not a directory, something is mounted there already, or FUSE is not available.
pub fn mount(job: MountJob) -> Result<Mounted, MountError> {
    let dir = clear(&job.dir)?;
    let (tell, distrusted) = channel();
    let MountJob { names, here, reach, sealed, emulated, .. } = job;
    let recording = Arc::new(Recording::begin(names.len(), emulated));
    let peers = names.iter().enumerate().map(|(place, name)| {
        Peer::new(name.clone(), place, Arc::clone(&reach), sealed, Arc::clone(&recording))
    });
    let peers = peers.collect();
    let top = TopFolder::new(names, here);
    let mount = Mount::new(peers, top, tell, Arc::clone(&recording));
    let shown = printable::path(&dir);
    let device = fuse::mount(&dir)
        .map_err(|error| MountError::Fuse(format!("cannot mount on {shown}"), error))?;
    let mut config = Config::default();
    config.acl = SessionACL::Owner;
    config.n_threads = Some(THREADS);
    let files = Files(Arc::clone(&mount));
    let session = Session::from_fd(files, device, SessionACL::Owner, config);
    let session = session.map_err(|error| {
        // The mount would never be served.
        let _ = fuse::unmount(&dir, true);
        MountError::Greeting(error)
    })?;
    Ok(Mounted { dir, session, distrusted, mount, recording })
}

/// Unmounts the directory `dir`. A mount that stays in use is detached: it disappears at once, and
/// ends when its last user has closed it.
///
/// # Errors
/// When nothing is mounted there, or the mount belongs to another user.
pub fn unmount(dir: &Path) -> Result<Ended, MountError> {
    let failed =
        |error| MountError::Fuse(format!("cannot unmount {}", printable::path(dir)), error);
    // Try again: a short access ends soon.
    for _ in 0..UNMOUNT_ATTEMPTS {
        match fuse::unmount(dir, false) {
            Ok(()) => return Ok(Ended::Unmounted),
            Err(error) if !is_mounted(dir) => {
                return Err(match dir.symlink_metadata() {
                    Ok(_) => MountError::NotMounted(printable::path(dir)),
                    Err(_) => failed(error),
                });
            }
            Err(_) => threads::sleep(UNMOUNT_INTERVAL),
        }
    }
    fuse::unmount(dir, true).map(|()| Ended::InUse).map_err(failed)
}

impl Mounted {
    /// Returns the canonical path of the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Serves the kernel's calls until the directory is unmounted or `interrupts` has a signal.
    /// Calls `ready` when accesses no longer block. Calls `keep` with the recording every ten
    /// seconds if it has grown, and at the end.
    ///
    /// # Errors
    /// When waiting for or handling the kernel's calls fails, or the directory cannot be unmounted.
    pub fn serve(
        self,
        interrupts: &Interrupts,
        ready: impl FnOnce(),
        keep: impl Fn(&Trace),
    ) -> Result<Served, MountError> {
        let Self { dir, session, distrusted, mount, recording } = self;
        let failed = |error| MountError::Serving(printable::path(&dir), error);
        let notifier = session.notifier();
        let weak = Arc::downgrade(&mount);
        let forget = move || forget_pages(&notifier, &distrusted, &weak);
        threads::spawn("pages", forget).map_err(failed)?;
        let over = Arc::new(Wake::new().map_err(failed)?);
        let raise = Arc::clone(&over);
        let served = threads::spawn("serve", move || {
            let result = session.run();
            raise.raise();
            result
        });
        let served = served.map_err(failed)?;
        let own = device(&dir);
        read_in_large_steps(own);
        ready();
        let mut ended = Ended::Unmounted;
        loop {
            let both = [over.as_fd(), interrupts.as_fd()];
            let come = event::wait_readable(&both, Some(SAVE_INTERVAL)).map_err(failed)?;
            if come[0] {
                break;
            }
            if come == [false; 2] && recording.is_news() {
                keep(&recording.trace());
            }
            if interrupts.pending() {
                if device(&dir) != own {
                    // The directory is unmounted; a copy in another mount namespace is harmless.
                    return Ok(finish(&mount, &recording, Ended::Unmounted, keep));
                }
                ended = unmount(&dir)?;
                // Limit the wait: processes may use the detached mount forever.
                let left =
                    event::wait_readable(&both[..1], Some(RELEASE_TIMEOUT)).map_err(failed)?;
                if left != [true] {
                    return Ok(finish(&mount, &recording, Ended::InUse, keep));
                }
            }
        }
        let result = served.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed")));
        until_unmounted(result).map_err(failed)?;
        Ok(finish(&mount, &recording, ended, keep))
    }
}

fn finish(
    mount: &Arc<Mount>,
    recording: &Recording,
    ended: Ended,
    keep: impl Fn(&Trace),
) -> Served {
    mount.write_out(FLUSH_TIMEOUT);
    keep(&recording.trace());
    Served { ended, account: mount.account() }
}

/// Returns the result of serving a mount. A mount that ends while a request is being read gives
/// `ECONNABORTED` instead of a regular end (`fuse_dev_do_read` in the kernel).
fn until_unmounted(served: io::Result<()>) -> io::Result<()> {
    served.or_else(|error| match Errno::from_io_error(&error) {
        Some(Errno::CONNABORTED) => Ok(()),
        _ => Err(error),
    })
}

/// Drops pages from the kernel's cache that may hold bytes which never reached a node. Runs on a
/// thread of its own, since the kernel waits for users of the pages. Also sends what the mount
/// holds, since a file may stay open.
fn forget_pages(notifier: &Notifier, distrusted: &Receiver<u64>, mount: &Weak<Mount>) {
    loop {
        match distrusted.recv_timeout(SENDING_INTERVAL) {
            Ok(number) => {
                // A file that the kernel has forgotten by now has no pages.
                let _ = notifier.inval_inode(INodeNo(number), 0, 0);
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => match mount.upgrade() {
                Some(mount) => {
                    mount.send_held();
                    mount.drop_idle_pieces();
                }
                None => return,
            },
        }
    }
}

/// Sets the kernel's read-ahead for the mount to 1 MiB if this user may do so; the default is 128
/// KiB.
fn read_in_large_steps(device: Option<u64>) {
    let Some(device) = device else { return };
    let major_number = rustix::fs::major(device);
    let minor_number = rustix::fs::minor(device);
    let path = format!("/sys/class/bdi/{major_number}:{minor_number}/read_ahead_kb");
    // Fails unless this user is root.
    let _ = std::fs::write(path, "1024");
}

/// Returns the device number of the file system that contains `dir`.
fn device(dir: &Path) -> Option<u64> {
    std::fs::metadata(dir).map(|stat| stat.dev()).ok()
}

/// Returns the canonical path of `dir` after checking that it can be mounted on. Removes a dead
/// mount on it.
fn clear(dir: &Path) -> Result<PathBuf, MountError> {
    let shown = printable::path(dir);
    let refuse = |reason: String| MountError::Folder(shown.clone(), reason);
    if let Err(error) = File::open(dir)
        && error.raw_os_error() == Some(Errno::NOTCONN.raw_os_error())
    {
        // The process that served it was killed.
        fuse::unmount(dir, true).map_err(|error| {
            MountError::Fuse(format!("cannot remove the dead mount on {shown}"), error)
        })?;
    }
    let path = dir.canonicalize().map_err(|error| refuse(garland_sys::error::reason(&error)))?;
    if !path.is_dir() {
        return Err(refuse("it is not a directory".to_owned()));
    }
    if is_mounted(&path) {
        return Err(refuse("another file system is mounted there already".to_owned()));
    }
    Ok(path)
}

/// Returns whether `dir` is a mount point.
fn is_mounted(dir: &Path) -> bool {
    let own = match std::fs::symlink_metadata(dir) {
        Ok(own) => own,
        // Otherwise stat(2) fails on a dead mount.
        Err(error) => return error.kind() != io::ErrorKind::NotFound,
    };
    let above = dir.parent().and_then(|above| std::fs::metadata(above).ok());
    above.is_some_and(|above| above.dev() != own.dev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_ends_while_a_request_is_read_has_ended() {
        assert!(until_unmounted(Err(Errno::CONNABORTED.into())).is_ok());
        assert!(until_unmounted(Err(Errno::IO.into())).is_err());
    }
}
