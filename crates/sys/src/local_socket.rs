//! Unix sockets with abstract names (unix(7)). Processes of one user in one network namespace find
//! each other by them. No file is left behind, no matter how the processes end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use rustix::process::geteuid;

use crate::{clock, event};

/// A listening socket with an abstract name. It accepts connections only from the same user and
/// from root.
#[derive(Debug)]
pub struct NamedListener(UnixListener);

impl NamedListener {
    /// Listens on the abstract name `name`, which is free again when the socket is closed.
    ///
    /// # Errors
    /// When the name is taken, or the system has no descriptor left.
    pub fn open(name: &str) -> io::Result<Self> {
        let address = SocketAddr::from_abstract_name(name)?;
        UnixListener::bind_addr(&address).map(Self)
    }

    /// Waits for the next connection, and returns it. Connections from other users except root are
    /// closed. Writes to the returned connection time out after `patience`.
    ///
    /// # Errors
    /// When the system cannot wait, or has no descriptor left.
    pub fn next(&self, patience: Duration) -> io::Result<UnixStream> {
        loop {
            event::wait_readable(&[self.0.as_fd()], None)?;
            let (caller, _) = self.0.accept()?;
            if is_ours(&caller) {
                caller.set_write_timeout(Some(patience))?;
                return Ok(caller);
            }
        }
    }
}

/// Returns the abstract names in this network namespace that begin with `prefix`, sorted and
/// without duplicates. Names that are not UTF-8 are left out. Other users may own some of the
/// names.
///
/// # Errors
/// When the kernel's list of sockets cannot be read.
pub fn names(prefix: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for line in BufReader::new(File::open("/proc/net/unix")?).split(b'\n') {
        let line = line?;
        let Ok(line) = std::str::from_utf8(&line) else { continue };
        // A line has seven fields and the name, whose leading zero byte is shown as `@`.
        let name = line.split_ascii_whitespace().nth(7).and_then(|name| name.strip_prefix('@'));
        names.extend(name.filter(|name| name.starts_with(prefix)).map(str::to_owned));
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Connects to the sockets with these names, and reads one message of at most `most` bytes from
/// each; stops after `patience` in total. Returns the messages in the order of `names`. A message
/// is `None` if it is incomplete or too long, or if its socket is gone or belongs to another user.
#[must_use]
pub fn hear(names: &[String], most: usize, patience: Duration) -> Vec<Option<Vec<u8>>> {
    let deadline_ns = clock::after(patience);
    let mut heard: Vec<Option<Vec<u8>>> = vec![None; names.len()];
    let mut callers: Vec<(usize, OwnedFd, Vec<u8>)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        callers.extend(call(name).ok().map(|socket| (at, socket, Vec::new())));
    }
    while !callers.is_empty() && clock::now_ns() < deadline_ns {
        let sockets: Vec<_> = callers.iter().map(|(_, socket, _)| socket.as_fd()).collect();
        let Ok(ready) = event::wait_readable(&sockets, Some(clock::until(deadline_ns))) else {
            break;
        };
        let mut ready = ready.into_iter();
        callers.retain_mut(|(at, socket, bytes)| {
            if !ready.next().unwrap_or(false) {
                return true;
            }
            match read_some(socket, bytes, most) {
                Ok(true) => true,
                Ok(false) => {
                    heard[*at] = Some(std::mem::take(bytes));
                    false
                }
                Err(_) => false,
            }
        });
    }
    heard
}

/// Connects to the socket with this name without waiting. If the queue of the listener is full, the
/// connection fails.
fn call(name: &str) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    if is_ours(&socket) { Ok(socket) } else { Err(ErrorKind::PermissionDenied.into()) }
}

/// Appends the available bytes to `bytes`; fails if `bytes` becomes longer than `most`. Returns
/// whether more bytes may follow.
fn read_some(socket: &OwnedFd, bytes: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let mut room = [0; 8 << 10];
    match rustix::io::read(socket, &mut room) {
        Ok(0) => Ok(false),
        Ok(read) if bytes.len() + read > most => Err(ErrorKind::FileTooLarge.into()),
        Ok(read) => {
            bytes.extend(&room[..read]);
            Ok(true)
        }
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether the other end of the socket belongs to this process's user or to root.
fn is_ours(socket: impl AsFd) -> bool {
    let peer = sockopt::socket_peercred(socket);
    peer.is_ok_and(|peer| peer.uid.is_root() || peer.uid == geteuid())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const SOON: Duration = Duration::from_millis(300);

    fn name(of: &str) -> String {
        format!("garland-test-{}-{of}", std::process::id())
    }

    #[test]
    fn what_is_said_is_heard_and_who_hangs_or_says_too_much_is_not() {
        let [says, hangs, shouts, absent] = ["says", "hangs", "shouts", "absent"].map(name);
        let speak = |name: &str, bytes: Vec<u8>| {
            let door = NamedListener::open(name).unwrap();
            std::thread::spawn(move || {
                // A peer that sends too much is disconnected.
                let _ = door.next(SOON).unwrap().write_all(&bytes);
            })
        };
        let speakers = [speak(&says, b"hello".to_vec()), speak(&shouts, vec![7; 100_000])];
        let hanging = NamedListener::open(&hangs).unwrap();
        let mut listed = names(&name("")).unwrap();
        listed.sort();
        assert_eq!(listed, [hangs.clone(), says.clone(), shouts.clone()]);
        let began = clock::now_ns();
        let heard = hear(&[says, hangs, shouts, absent], 1000, SOON);
        assert_eq!(heard, [Some(b"hello".to_vec()), None, None, None]);
        assert!(clock::now_ns() - began < 20 * SOON.as_nanos() as u64);
        for speaker in speakers {
            speaker.join().unwrap();
        }
        drop(hanging);
        assert_eq!(names(&name("")).unwrap(), [""; 0]);
    }

    #[test]
    fn a_name_is_one_process_own() {
        let name = name("taken");
        let _door = NamedListener::open(&name).unwrap();
        assert_eq!(NamedListener::open(&name).unwrap_err().kind(), ErrorKind::AddrInUse);
    }
}
