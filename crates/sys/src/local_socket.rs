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

use crate::{clock, event, unix_sockets};

/// The flags of a listening socket in `/proc/net/unix` (`__SO_ACCEPTCON`).
const ACCEPTS: &str = "00010000";

/// The type of a stream socket there.
const STREAM: &str = "0001";

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

/// Returns the abstract names in this network namespace that begin with `prefix` and accept
/// connections, sorted and without duplicates. Names that are not UTF-8 are left out, and so are
/// those of other users but root, as far as the kernel tells whose they are.
///
/// # Errors
/// When the kernel's list of sockets cannot be read.
pub fn names(prefix: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let told = unix_sockets::listening(&mut |name, user| {
        let is_ours = user == 0 || user == geteuid().as_raw();
        let name = std::str::from_utf8(name).ok().filter(|name| name.starts_with(prefix));
        names.extend(name.filter(|_| is_ours).map(str::to_owned));
    });
    if told.is_err() {
        // Kernels before 5.3 or without unix_diag, or a filter of system calls.
        names = names_of_all(prefix)?;
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Returns the names of [`names`], those of other users, too.
fn names_of_all(prefix: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for line in BufReader::new(File::open("/proc/net/unix")?).split(b'\n') {
        let line = line?;
        let Ok(line) = std::str::from_utf8(&line) else { continue };
        names.extend(listening(line).filter(|name| name.starts_with(prefix)).map(str::to_owned));
    }
    Ok(names)
}

/// Returns the abstract name in a line of `/proc/net/unix` (unix(7)) if it is that of a stream
/// socket which somebody listens on. A line has seven fields and the name, whose leading zero byte
/// is shown as `@`.
fn listening(line: &str) -> Option<&str> {
    let mut fields = line.split_ascii_whitespace();
    let is_listening = fields.nth(3) == Some(ACCEPTS);
    let is_stream = fields.next() == Some(STREAM);
    fields.nth(2).filter(|_| is_listening && is_stream)?.strip_prefix('@')
}

/// How many sockets [`hear`] listens to, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Hearing {
    /// The maximum number of sockets that are listened to at once.
    pub sockets_max: usize,
    /// The maximum length of a message, in bytes.
    pub length_max: usize,
    /// The time for all of them together.
    pub patience: Duration,
}

/// What sockets have said.
#[derive(Debug, Default)]
pub struct Heard {
    /// The whole messages.
    pub messages: Vec<Vec<u8>>,
    /// The number of sockets whose message was incomplete or too long or did not come, or which
    /// were gone or not asked. Those of other users do not count.
    pub silent: usize,
}

/// Connects to the sockets with these names, and reads a message from each that belongs to this
/// user or to root. Anybody can take such names, so sockets of others cost a connection each and
/// nothing more.
#[must_use]
pub fn hear(names: &[String], hearing: Hearing) -> Heard {
    let deadline_ns = clock::after(hearing.patience);
    let mut heard = Heard::default();
    let mut callers: Vec<(OwnedFd, Vec<u8>)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if callers.len() == hearing.sockets_max || clock::now_ns() >= deadline_ns {
            heard.silent += names.len() - at;
            break;
        }
        match call(name) {
            Ok(socket) => callers.push((socket, Vec::new())),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            Err(_) => heard.silent += 1,
        }
    }
    while !callers.is_empty() && clock::now_ns() < deadline_ns {
        let sockets: Vec<_> = callers.iter().map(|(socket, _)| socket.as_fd()).collect();
        let Ok(ready) = event::wait_readable(&sockets, Some(clock::until(deadline_ns))) else {
            break;
        };
        let mut ready = ready.into_iter();
        callers.retain_mut(|(socket, bytes)| {
            if !ready.next().unwrap_or(false) {
                return true;
            }
            match read_some(socket, bytes, hearing.length_max) {
                Ok(true) => return true,
                Ok(false) => heard.messages.push(std::mem::take(bytes)),
                Err(_) => heard.silent += 1,
            }
            false
        });
    }
    heard.silent += callers.len();
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
        Ok(length) if bytes.len() + length > most => Err(ErrorKind::FileTooLarge.into()),
        Ok(length) => {
            bytes.extend(&room[..length]);
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
    use std::process::Stdio;

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
        let hearing = Hearing { sockets_max: 4, length_max: 1000, patience: SOON };
        let heard = hear(&[says, hangs, shouts, absent], hearing);
        assert_eq!((heard.messages, heard.silent), (vec![b"hello".to_vec()], 3));
        assert!(clock::now_ns() - began < 20 * SOON.as_nanos() as u64);
        for speaker in speakers {
            speaker.join().unwrap();
        }
        drop(hanging);
        assert_eq!(names(&name("")).unwrap(), [""; 0]);
    }

    /// A process of another user that has taken this name.
    fn take_as_another_user(name: &str) -> std::process::Child {
        const TAKE: &str = "import os, socket, sys, time\nos.setgid(65534); os.setuid(65534)\n\
            s = [socket.socket(socket.AF_UNIX) for _ in range(300)]\n\
            for i, it in enumerate(s): it.bind(f'\\0{sys.argv[1]}-{i:03}'); it.listen(1)\n\
            print('taken', flush=True); sys.stdin.read()";
        let mut python = std::process::Command::new("python3");
        python.args(["-c", TAKE, name]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = python.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(python.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "taken\n");
        python
    }

    #[test]
    fn sockets_of_others_hide_none() {
        if !geteuid().is_root() {
            // Only root becomes another user.
            return;
        }
        let before = name("many");
        let mut others = take_as_another_user(&before);
        let own = format!("{before}-z");
        let door = NamedListener::open(&own).unwrap();
        let speaker = std::thread::spawn(move || door.next(SOON).unwrap().write_all(b"here"));
        assert_eq!(names(&before).unwrap(), [own.as_str()]);
        let mut all = names_of_all(&before).unwrap();
        assert_eq!(all.len(), 301, "an old kernel does not tell whose they are");
        all.sort();
        let hearing = Hearing { sockets_max: 256, length_max: 1000, patience: 100 * SOON };
        let heard = hear(&all, hearing);
        assert_eq!((heard.messages, heard.silent), (vec![b"here".to_vec()], 0));
        speaker.join().unwrap().unwrap();
        drop(others.stdin.take());
        others.wait().unwrap();
    }

    /// Binds a socket of this type to a name. Nobody can connect to it until it is listened on.
    fn bind(kind: SocketType, name: &str) -> OwnedFd {
        let listening = rustix::net::socket(AddressFamily::UNIX, kind, None).unwrap();
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
        rustix::net::bind(&listening, &address).unwrap();
        listening
    }

    #[test]
    fn sockets_to_which_nobody_can_connect_hide_none() {
        let before = name("bound");
        let _bound = bind(SocketType::STREAM, &format!("{before}-bound"));
        let _datagrams = bind(SocketType::DGRAM, &format!("{before}-datagrams"));
        let packets = bind(SocketType::SEQPACKET, &format!("{before}-packets"));
        rustix::net::listen(&packets, 1).unwrap();
        let own = format!("{before}-z");
        let _door = NamedListener::open(&own).unwrap();
        assert_eq!(names(&before).unwrap(), [own.as_str()]);
        assert_eq!(names_of_all(&before).unwrap(), [own.as_str()], "by an old kernel's list");
    }

    #[test]
    fn a_name_is_one_process_own() {
        let taken = name("taken");
        let _door = NamedListener::open(&taken).unwrap();
        assert_eq!(NamedListener::open(&taken).unwrap_err().kind(), ErrorKind::AddrInUse);
    }
}
