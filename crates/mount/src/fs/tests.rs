//! Tests with the kernel's FUSE and agents that are made by hand.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use fuser::{Config, Session, SessionACL};
use garland_protocol::files::{Answer, Ask, Attr, FileKind, FileRef, FileRequest, Stamp};
use garland_sys::channel::{Receiver, channel};
use garland_sys::fuse;
use rustix::io::Errno;

use super::*;
use crate::peer::HandAgent;

/// The time within which a test expects something.
const DEADLINE: Duration = Duration::from_secs(30);

/// The length of each file.
const LENGTH: u32 = 64 << 10;

/// More than the background requests that some file systems have the kernel make.
const READERS: usize = 80;

/// A mount of the nodes `good` and `bad`. The files of both are numbers.
struct Mounted {
    dir: PathBuf,
    bad: Arc<Peer>,
    /// Has a value for each read that the node `bad` does not answer.
    hanging: Receiver<()>,
}

impl Mounted {
    fn new(name: &str) -> Self {
        let name = format!("garland-mount-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).expect("a directory");
        let (tell, hanging) = channel();
        let peers = ["good", "bad"].into_iter().enumerate().map(|(node, name)| {
            let (ends, agents) = HandAgent::connections();
            for agent in agents {
                let hangs = (name == "bad").then(|| tell.clone());
                thread::spawn(move || serve(agent, hangs));
            }
            Peer::connected(name, node, ends)
        });
        let peers: Vec<_> = peers.collect();
        let bad = Arc::clone(&peers[1]);
        let top = TopFolder::new(vec!["good".to_owned(), "bad".to_owned()], None);
        let (tell, _) = channel();
        let mount = Mount::new(peers, top, tell, Arc::new(Recording::begin(2, false)));
        let device = fuse::mount(&dir).expect("FUSE file systems can be mounted");
        let files = Files(mount);
        let session = Session::from_fd(files, device, SessionACL::Owner, Config::default());
        let session = session.expect("the kernel greets");
        thread::spawn(move || session.run());
        Self { dir, bad, hanging }
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.join(path)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.bad.lose();
        let _ = fuse::unmount(&self.dir, true);
        let _ = fs::remove_dir(&self.dir);
    }
}

/// Answers the requests on one connection. With `hangs`, reads are told there and not answered.
fn serve(mut agent: HandAgent, hangs: Option<Sender<()>>) {
    while let Some(FileRequest { number, ask }) = agent.receive() {
        match ask {
            Ask::Stat(FileRef::Path(path)) => {
                agent.answer(number, Ok(Answer::Attr(attr(&path))), b"");
            }
            Ask::Stat(FileRef::Open(handle)) => {
                let attr = attr(handle.to_string().as_bytes());
                agent.answer(number, Ok(Answer::Attr(attr)), b"");
            }
            Ask::Open(path, _) => {
                let attr = attr(&path);
                let opened = Answer::Opened { handle: attr.inode, attr, fresh: false };
                agent.answer(number, Ok(opened), b"");
            }
            Ask::Read(_, offset, length) => match &hangs {
                Some(hangs) => {
                    let _ = hangs.send(());
                }
                None => {
                    let rest = u64::from(LENGTH).saturating_sub(offset);
                    let bytes = vec![7; u64::from(length).min(rest) as usize];
                    agent.answer(number, Ok(Answer::Done), &bytes);
                }
            },
            Ask::Close(_) => {}
            _ => agent.answer(number, Err(Errno::NOSYS), b""),
        }
    }
}

/// The attributes of a file, whose path is its inode number; those of the root for an empty path.
fn attr(path: &[u8]) -> Attr {
    let number = std::str::from_utf8(path).ok().and_then(|path| path.parse().ok());
    let time = Stamp { seconds: 1, nanos: 0 };
    Attr {
        kind: if number.is_some() { FileKind::File } else { FileKind::Folder },
        mode: 0o755,
        links: 1,
        user: rustix::process::getuid().as_raw(),
        group: rustix::process::getgid().as_raw(),
        number: 0,
        size: LENGTH.into(),
        blocks: 128,
        device: 1,
        inode: number.unwrap_or(1),
        born: time,
        accessed: time,
        modified: time,
        changed: time,
    }
}

/// Reads the first bytes of a file, fewer than the kernel reads ahead: if there are many background
/// requests, it makes none for a read that takes all of them.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4096];
    File::open(path)?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn a_node_that_answers_no_reads_stops_no_reads_of_another() {
    let mounted = Mounted::new("background");
    let readers: Vec<_> = (0..READERS)
        .map(|file| {
            let path = mounted.path(format!("bad/{}", file + 2));
            thread::spawn(move || read(&path))
        })
        .collect();
    for _ in 0..64 {
        mounted.hanging.recv_timeout(DEADLINE).expect("the kernel sends the reads");
    }
    let (tell, told) = channel();
    let path = mounted.path("good/2");
    thread::spawn(move || tell.send(read(&path)));
    let bytes = told.recv_timeout(DEADLINE / 3).expect("the other node's file is read");
    assert_eq!(bytes.ok(), Some(vec![7; 4096]));
    mounted.bad.lose();
    for reader in readers {
        let read = reader.join().expect("it ends");
        assert_eq!(read.err().and_then(|error| error.raw_os_error()), Some(5));
    }
}
