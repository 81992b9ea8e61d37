//! Mounts and unmounts FUSE file systems: by mount(2) if this process has the privilege, otherwise
//! by the set-uid helper `fusermount3`.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
    recvmsg, socketpair,
};
use thiserror::Error;

use crate::error::reason;

const DEVICE: &str = "/dev/fuse";
const HELPER: &str = "fusermount3";
const NAME: &str = "garland";

/// The error of a FUSE mount or unmount.
#[derive(Debug, Error)]
pub enum FuseError {
    /// `/dev/fuse` cannot be opened: this user lacks the permission, or the kernel lacks FUSE.
    #[error("cannot open {DEVICE}: {0}")]
    Device(io::Error),
    /// The kernel refused to mount.
    #[error("{}", reason(.0))]
    Mount(io::Error),
    /// The helper cannot be started; only root can mount without it.
    #[error("cannot start {HELPER}, which users other than root need: {0}; install fuse3")]
    NoHelper(io::Error),
    /// The helper failed; contains its error output.
    #[error("{0}")]
    Helper(String),
    /// The kernel refused to unmount.
    #[error("{}", reason(.0))]
    Unmount(io::Error),
}

/// Mounts a FUSE file system on the directory `dir` and returns the descriptor that its requests
/// are read from. Only this user can access it; set-id bits and devices in it are ignored.
///
/// # Errors
/// When neither this process nor the helper can mount there.
pub fn mount(dir: &Path) -> Result<OwnedFd, FuseError> {
    let device = openat(CWD, DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| FuseError::Device(error.into()))?;
    let mode = std::fs::metadata(dir).map_err(FuseError::Mount)?.mode();
    let user = rustix::process::getuid().as_raw();
    let group = rustix::process::getgid().as_raw();
    let data = format!(
        "fd={},rootmode={:o},user_id={user},group_id={group}\0",
        device.as_raw_fd(),
        mode & 0o170_000
    );
    let data = std::ffi::CStr::from_bytes_with_nul(data.as_bytes()).expect("it ends in a zero");
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    match rustix::mount::mount(NAME, dir, c"fuse.garland", flags, Some(data)) {
        Ok(()) => Ok(device),
        Err(Errno::PERM) => mount_by_helper(dir),
        Err(error) => Err(FuseError::Mount(error.into())),
    }
}

/// Unmounts the directory `dir`. With `lazy`, detaches a file system in use at once and unmounts it
/// after its last use.
///
/// # Errors
/// When the directory is not a mount of this user, or is in use.
pub fn unmount(dir: &Path, lazy: bool) -> Result<(), FuseError> {
    let flags = if lazy { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    match rustix::mount::unmount(dir, flags | UnmountFlags::NOFOLLOW) {
        Ok(()) => Ok(()),
        Err(Errno::PERM) => {
            let mut helper = Command::new(HELPER);
            helper.arg("-u").args(lazy.then_some("-z")).arg("--").arg(dir);
            let said = helper.stdin(Stdio::null()).output().map_err(FuseError::NoHelper)?;
            if said.status.success() { Ok(()) } else { Err(told(&said.stderr)) }
        }
        Err(error) => Err(FuseError::Unmount(error.into())),
    }
}

fn mount_by_helper(dir: &Path) -> Result<OwnedFd, FuseError> {
    let failed = |error: Errno| FuseError::Mount(error.into());
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(failed)?;
    fcntl_setfd(&theirs, FdFlags::empty()).map_err(failed)?;
    let mut helper = Command::new(HELPER);
    helper.args(["-o", "fsname=garland,subtype=garland", "--"]).arg(dir);
    helper.env("_FUSE_COMMFD", theirs.as_raw_fd().to_string());
    helper.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = helper.spawn().map_err(FuseError::NoHelper)?;
    drop(theirs);
    let device = receive_descriptor(&ours);
    let said = child.wait_with_output().map_err(FuseError::NoHelper)?;
    device.ok_or_else(|| told(&said.stderr))
}

fn receive_descriptor(socket: &OwnedFd) -> Option<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(socket.as_fd(), &mut [IoSliceMut::new(&mut byte)], &mut control, flags).ok()?;
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    })
}

fn told(words: &[u8]) -> FuseError {
    let words = String::from_utf8_lossy(words);
    FuseError::Helper(words.trim().replace('\n', "; "))
}
