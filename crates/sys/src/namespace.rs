//! Creates namespaces, names them by a bind mount, and joins them.
//!
//! A [`Namespace`] holds a descriptor of a `/proc/PID/ns/KIND` file, or of a bind mount of such a
//! file, as ip-netns(8) creates them. Joining is setns(2).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::mount::{MountFlags, MountPropagationFlags};

use crate::proxy;

/// The kinds of namespace a lab uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Users and capabilities. Inside a user namespace, the other kinds can be created without
    /// root.
    User,
    /// Process numbers. When the first process of the namespace dies, the kernel kills all others
    /// in it.
    Pid,
    /// The host name.
    Uts,
    /// Network devices, addresses, routes, sockets.
    Net,
    /// The mount table.
    Mount,
}

impl Kind {
    /// Returns the name of the file for this kind under `/proc/PID/ns`.
    pub fn file(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Pid => "pid",
            Kind::Uts => "uts",
            Kind::Net => "net",
            Kind::Mount => "mnt",
        }
    }

    fn flag(self) -> libc::c_int {
        match self {
            Kind::User => libc::CLONE_NEWUSER,
            Kind::Pid => libc::CLONE_NEWPID,
            Kind::Uts => libc::CLONE_NEWUTS,
            Kind::Net => libc::CLONE_NEWNET,
            Kind::Mount => libc::CLONE_NEWNS,
        }
    }
}

/// An open descriptor of a namespace, which keeps the namespace in existence.
#[derive(Debug)]
pub struct Namespace {
    kind: Kind,
    file: File,
}

impl Namespace {
    /// Opens the namespace at `path`: a file in `/proc/PID/ns`, or a bind mount of one.
    pub fn open(kind: Kind, path: &Path) -> io::Result<Namespace> {
        Ok(Namespace { kind, file: File::open(path)? })
    }

    /// Returns the namespace of the calling thread.
    pub fn current(kind: Kind) -> io::Result<Namespace> {
        let path = format!("/proc/thread-self/ns/{}", kind.file());
        Namespace::open(kind, Path::new(&path))
    }

    /// Moves the calling thread into the namespace. For [`Kind::Pid`], only its future children
    /// move; for [`Kind::User`], the process must have a single thread (setns(2)).
    pub fn join(&self) -> io::Result<()> {
        // SAFETY: setns takes a descriptor, which `self.file` keeps open, and a flag; it touches no
        // memory of this process.
        let answer = unsafe { libc::setns(self.file.as_raw_fd(), self.kind.flag()) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Returns whether the calling thread is in this namespace. Check this before joining a user
    /// namespace: the kernel refuses to join the current one.
    pub fn is_current(&self) -> io::Result<bool> {
        Ok(self.inode()? == Namespace::current(self.kind)?.inode()?)
    }

    /// Returns the inode number, which identifies the namespace while it exists. `readlink
    /// /proc/PID/ns/net` shows it in brackets.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.ino())
    }
}

/// Moves the calling thread into new namespaces of these kinds. For [`Kind::Pid`], only its future
/// children move.
pub fn unshare(kinds: &[Kind]) -> io::Result<()> {
    let flags = kinds.iter().fold(0, |flags, kind| flags | kind.flag());
    // SAFETY: unshare takes flags only. None of these kinds unshares the descriptor table, which
    // is what the standard library relies on.
    let answer = unsafe { libc::unshare(flags) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Maps the user and the group that created this user namespace to its root. An unprivileged user
/// may write no other mapping (user_namespaces(7)). Call this inside the new namespace.
pub fn map_to_root(user: u32, group: u32) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Returns the effective user and group ids of this process in its user namespace.
pub fn effective_ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// Stops mounts from propagating to the mount namespace that this one was copied from. Call this
/// inside the new namespace.
pub fn make_mounts_private() -> io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(rustix::mount::mount_change("/", flags)?)
}

/// Mounts an empty tmpfs on `path`.
pub fn mount_memory(path: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(rustix::mount::mount("tmpfs", path, "tmpfs", flags, Some(c"mode=0755"))?)
}

/// Gives the calling thread's namespace of this kind a name: creates an empty file at `path` and
/// bind-mounts the namespace on it, as `ip netns add` does.
pub fn keep_as(kind: Kind, path: &Path) -> io::Result<()> {
    File::create_new(path)?;
    let source = format!("/proc/thread-self/ns/{}", kind.file());
    Ok(rustix::mount::mount_bind(source.as_str(), path)?)
}

/// Sets the host name of the calling thread's UTS namespace.
pub fn set_host_name(name: &str) -> io::Result<()> {
    Ok(rustix::system::sethostname(name.as_bytes())?)
}

/// The namespaces for a process to enter; `None` keeps the caller's. The user namespace comes
/// first, since it gives the privilege to enter the others.
#[derive(Debug, Default)]
pub struct Entry {
    /// The user namespace; `None` if it is the caller's own.
    pub user: Option<Namespace>,
    /// The PID namespace.
    pub pid: Option<Namespace>,
    /// The UTS namespace, which has the host name.
    pub uts: Option<Namespace>,
    /// The network namespace.
    pub net: Option<Namespace>,
}

impl Entry {
    /// Moves the calling thread into these namespaces. With a user namespace, the process must have
    /// a single thread. A PID namespace applies only to future children.
    pub fn enter(&self) -> io::Result<()> {
        [&self.user, &self.pid, &self.uts, &self.net]
            .into_iter()
            .flatten()
            .try_for_each(Namespace::join)
    }

    /// Makes the program of `command` run in these namespaces. With a PID namespace, the caller's
    /// child is a proxy (see [`proxy`]), and the program is a child of the proxy.
    pub fn attach(self, command: &mut Command) {
        let enter = move || {
            self.enter()?;
            if self.pid.is_some() {
                proxy::stand_in_for_child()?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec only setns, signal calls, fork, close_range and waiting
        // happen; nothing allocates and no lock is taken.
        unsafe { command.pre_exec(enter) };
    }
}
