//! Namespaces: making them, naming them by a bind mount, and joining them.
//!
//! A namespace of this module is held by a descriptor of its `/proc/PID/ns/KIND` file or of a bind
//! mount of it, as ip-netns(8) keeps them. Joining one is setns(2).

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
    /// Users and capabilities: what makes the other kinds possible without root.
    User,
    /// Process identifiers: when its first process dies, the kernel kills all the others.
    Pid,
    /// The host name.
    Uts,
    /// Network devices, addresses, routes, sockets.
    Net,
    /// The mount table.
    Mount,
}

impl Kind {
    /// The name of the file under `/proc/PID/ns`.
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

/// One namespace, kept alive by an open descriptor.
#[derive(Debug)]
pub struct Namespace {
    kind: Kind,
    file: File,
}

impl Namespace {
    /// Opens the namespace that `path` stands for: a file of `/proc/PID/ns` or a bind mount of one.
    pub fn open(kind: Kind, path: &Path) -> io::Result<Namespace> {
        Ok(Namespace { kind, file: File::open(path)? })
    }

    /// The namespace the calling thread is in.
    pub fn current(kind: Kind) -> io::Result<Namespace> {
        let path = format!("/proc/thread-self/ns/{}", kind.file());
        Namespace::open(kind, Path::new(&path))
    }

    /// Moves the calling thread in. For [`Kind::Pid`] only its future children move, and for
    /// [`Kind::User`] the process must have one thread only: see setns(2).
    pub fn join(&self) -> io::Result<()> {
        // SAFETY: setns takes a descriptor, which `self.file` keeps open, and a flag; it touches no
        // memory of this process.
        let answer = unsafe { libc::setns(self.file.as_raw_fd(), self.kind.flag()) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether the calling thread is in this namespace already; joining one's own user namespace
    /// is refused by the kernel, so one must ask before.
    pub fn is_current(&self) -> io::Result<bool> {
        Ok(self.inode()? == Namespace::current(self.kind)?.inode()?)
    }

    /// The inode that identifies the namespace while it lives: what `readlink /proc/PID/ns/net`
    /// shows in brackets.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.ino())
    }
}

/// Moves the calling thread into new namespaces of these kinds. For [`Kind::Pid`] only its future
/// children move.
pub fn unshare(kinds: &[Kind]) -> io::Result<()> {
    let flags = kinds.iter().fold(0, |flags, kind| flags | kind.flag());
    // SAFETY: unshare takes flags only. None of these kinds unshares the descriptor table, which
    // is what the standard library relies on.
    let answer = unsafe { libc::unshare(flags) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// In a new user namespace: makes the user and group that made it its root, the only mapping an
/// ordinary user may write (user_namespaces(7)).
pub fn map_to_root(user: u32, group: u32) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// The effective user and group of this process, as its user namespace names them.
pub fn effective_ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// In a new mount namespace: stops mounts from spreading back to the one it was copied from.
pub fn make_mounts_private() -> io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(rustix::mount::mount_change("/", flags)?)
}

/// Mounts an empty memory file system on `path`.
pub fn mount_memory(path: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(rustix::mount::mount("tmpfs", path, "tmpfs", flags, Some(c"mode=0755"))?)
}

/// Gives the calling thread's namespace of this kind a name: an empty file at `path` with the
/// namespace bind-mounted over it, as `ip netns add` does.
pub fn keep_as(kind: Kind, path: &Path) -> io::Result<()> {
    File::create_new(path)?;
    let source = format!("/proc/thread-self/ns/{}", kind.file());
    Ok(rustix::mount::mount_bind(source.as_str(), path)?)
}

/// Sets the host name of the calling thread's UTS namespace.
pub fn set_host_name(name: &str) -> io::Result<()> {
    Ok(rustix::system::sethostname(name.as_bytes())?)
}

/// The namespaces one process enters, in the order setns(2) wants them: the user namespace first,
/// since it gives the right to enter the others.
#[derive(Debug, Default)]
pub struct Entry {
    /// User namespace, when it isn't the caller's own.
    pub user: Option<Namespace>,
    /// PID namespace.
    pub pid: Option<Namespace>,
    /// Host name.
    pub uts: Option<Namespace>,
    /// Network.
    pub net: Option<Namespace>,
}

impl Entry {
    /// Moves the calling thread. With a user namespace the process must be single-threaded; a PID
    /// namespace counts for later children only.
    pub fn enter(&self) -> io::Result<()> {
        [&self.user, &self.pid, &self.uts, &self.net]
            .into_iter()
            .flatten()
            .try_for_each(Namespace::join)
    }

    /// Makes `command`'s program run in these namespaces. With a PID namespace the process that
    /// the caller sees is a proxy, see [`proxy`]; the program is its child.
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
