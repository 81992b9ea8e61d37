//! Tests with the kernel's FUSE and agents that are made by hand.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use fuser::{Config, Session, SessionACL};
use garland_protocol::files::{
    Answer, Ask, Attr, Entry, FileKind, FileRef, FileRequest, PIECE, Stamp,
};
use garland_sys::channel::{Receiver, channel};
use garland_sys::fuse;
use garland_sys::sync::Mutex;
use rustix::fs::Dir;
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
    mount: Arc<Mount>,
}

/// How the node `bad` answers a request, by its number; false if it answers as the node `good`.
type Answers = Arc<dyn Fn(&mut HandAgent, u64, &Ask) -> bool + Send + Sync>;

impl Mounted {
    fn new(name: &str, bad: Answers) -> Self {
        let name = format!("garland-mount-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).expect("a directory");
        let good: Answers = Arc::new(|_, _, _| false);
        let nodes = [("good", good), ("bad", bad)];
        let peers = nodes.into_iter().enumerate().map(|(node, (name, answers))| {
            let (ends, agents) = HandAgent::connections();
            for agent in agents {
                let answers = Arc::clone(&answers);
                thread::spawn(move || serve(agent, &answers));
            }
            Peer::connected(name, node, ends)
        });
        let peers: Vec<_> = peers.collect();
        let bad = Arc::clone(&peers[1]);
        let top = TopFolder::new(vec!["good".to_owned(), "bad".to_owned()], None);
        let (tell, _) = channel();
        let mount = Mount::new(peers, top, tell, Arc::new(Recording::begin(2, false)));
        let device = fuse::mount(&dir).expect("FUSE file systems can be mounted");
        let files = Files(Arc::clone(&mount));
        let session = Session::from_fd(files, device, SessionACL::Owner, Config::default());
        let session = session.expect("the kernel greets");
        thread::spawn(move || session.run());
        Self { dir, bad, mount }
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

/// Answers the requests on one connection that `answers` does not answer.
fn serve(mut agent: HandAgent, answers: &Answers) {
    while let Some(FileRequest { number, ask }) = agent.receive() {
        if answers(&mut agent, number, &ask) {
            continue;
        }
        match ask {
            Ask::Stat(FileRef::Path(path)) => {
                agent.answer(number, Ok(Answer::Attr(attr_of(&path))), b"");
            }
            Ask::Stat(FileRef::Open(handle)) => {
                let attr = attr_of(handle.to_string().as_bytes());
                agent.answer(number, Ok(Answer::Attr(attr)), b"");
            }
            Ask::Open(path, _) => {
                let attr = attr_of(&path);
                let opened = Answer::Opened { handle: attr.inode, attr, fresh: false };
                agent.answer(number, Ok(opened), b"");
            }
            Ask::Read(_, offset, length) => {
                let rest = u64::from(LENGTH).saturating_sub(offset);
                let bytes = vec![7; u64::from(length).min(rest) as usize];
                agent.answer(number, Ok(Answer::Done), &bytes);
            }
            Ask::Sync(..) => agent.answer(number, Ok(Answer::Done), b""),
            Ask::Close(_) => {}
            _ => agent.answer(number, Err(Errno::NOSYS), b""),
        }
    }
}

/// The attributes of a file, whose path is its inode number; those of the root for an empty path.
fn attr_of(path: &[u8]) -> Attr {
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
    let (tell, hanging) = channel();
    let hang = move |_: &mut HandAgent, _, ask: &Ask| {
        matches!(ask, Ask::Read(..)) && tell.send(()).is_ok()
    };
    let mounted = Mounted::new("background", Arc::new(hang));
    let readers: Vec<_> = (0..READERS)
        .map(|file| {
            let path = mounted.path(format!("bad/{}", file + 2));
            thread::spawn(move || read(&path))
        })
        .collect();
    for _ in 0..64 {
        hanging.recv_timeout(DEADLINE).expect("the kernel sends the reads");
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

/// Returns a part of a listing with the file `2`.
fn listed(more: Option<u64>) -> Answer {
    let entry = Entry { name: b"2".to_vec(), attr: attr_of(b"2") };
    Answer::Listed { more, entries: vec![entry] }
}

/// Opens a directory, and reads it from its beginning again and again until that fails. Returns the
/// receiver of the error.
fn read_until_refused(path: PathBuf) -> (Receiver<()>, Receiver<Errno>) {
    let (opened, is_open) = channel();
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut folder = Dir::new(File::open(path)?)?;
        let _ = opened.send(());
        loop {
            folder.rewind();
            while let Some(entry) = folder.read() {
                if let Err(error) = entry {
                    let _ = tell.send(error);
                    return Ok::<_, io::Error>(());
                }
            }
        }
    });
    (is_open, told)
}

#[test]
fn a_directory_that_was_open_when_its_node_was_lost_is_refused() {
    let answers = |agent: &mut HandAgent, number, ask: &Ask| {
        let is_list = matches!(ask, Ask::List(_));
        if is_list {
            agent.answer(number, Ok(listed(None)), b"");
        }
        is_list
    };
    let mounted = Mounted::new("rewound", Arc::new(answers));
    let (is_open, refused) = read_until_refused(mounted.path("bad"));
    is_open.recv_timeout(DEADLINE).expect("the directory is listed");
    mounted.bad.lose();
    assert_eq!(refused.recv_timeout(DEADLINE), Ok(Errno::HOSTDOWN));
}

#[test]
fn a_directory_that_its_node_lists_no_more_is_asked_for_once() {
    let lists = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&lists);
    let answers = move |agent: &mut HandAgent, number, ask: &Ask| {
        let is_list = matches!(ask, Ask::List(_));
        if is_list {
            let is_first = counted.fetch_add(1, Ordering::Relaxed) == 0;
            let answer = if is_first { Ok(listed(None)) } else { Err(Errno::ACCESS) };
            agent.answer(number, answer, b"");
        }
        is_list
    };
    let mounted = Mounted::new("barred", Arc::new(answers));
    let (_, refused) = read_until_refused(mounted.path("bad"));
    assert_eq!(refused.recv_timeout(DEADLINE / 3), Ok(Errno::ACCESS));
    assert_eq!(lists.load(Ordering::Relaxed), 2);
}

#[test]
fn a_node_without_a_call_takes_it_from_no_other_node() {
    let answers = |agent: &mut HandAgent, number, ask: &Ask| {
        let is_sync = matches!(ask, Ask::Sync(..));
        if is_sync {
            agent.answer(number, Err(Errno::NOSYS), b"");
        }
        is_sync
    };
    let mounted = Mounted::new("nosys", Arc::new(answers));
    let sync = |path| File::open(mounted.path(path)).and_then(|file| file.sync_all());
    let number = |outcome: io::Result<()>| outcome.err().and_then(|error| error.raw_os_error());
    let unsupported = Some(Errno::OPNOTSUPP.raw_os_error());
    // At the first such error the kernel would take all later calls for done.
    assert_eq!(number(sync("bad/2")), unsupported);
    assert_eq!(number(sync("bad/2")), unsupported);
    assert!(sync("good/2").is_ok());
    assert_eq!(number(sync("bad/2")), unsupported);
}

#[test]
fn open_files_keep_64_pieces_that_are_read_ahead() {
    const LONG: u64 = 256 << 20;
    let pieces = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&pieces);
    let answers = move |agent: &mut HandAgent, number, ask: &Ask| {
        let path = match ask {
            Ask::Open(path, _) | Ask::Stat(FileRef::Path(path)) if !path.is_empty() => path.clone(),
            Ask::Stat(FileRef::Open(handle)) => handle.to_string().into_bytes(),
            Ask::Read(_, _, length) => {
                counted.fetch_add(u64::from(*length == PIECE), Ordering::Relaxed);
                // Enough for the kernel's first read.
                agent.answer(number, Ok(Answer::Done), &[7; 128 << 10]);
                return true;
            }
            _ => return false,
        };
        let attr = Attr { size: LONG, ..attr_of(&path) };
        let opened = Answer::Opened { handle: attr.inode, attr, fresh: false };
        let answer = if matches!(ask, Ask::Open(..)) { opened } else { Answer::Attr(attr) };
        agent.answer(number, Ok(answer), b"");
        true
    };
    let mounted = Mounted::new("pieces", Arc::new(answers));
    let open = |number: u64| {
        let mut file = File::open(mounted.path(format!("bad/{number}"))).expect("the file exists");
        let mut bytes = vec![0; 128 << 10];
        file.read_exact(&mut bytes).expect("it is read");
        file
    };
    let mut files: Vec<_> = (2..102).map(open).collect();
    assert_eq!(pieces.load(Ordering::Relaxed), 64);
    while pieces.load(Ordering::Relaxed) == 64 {
        mounted.mount.drop_idle_pieces();
        files.push(open(files.len() as u64 + 2));
    }
}

#[test]
fn the_end_of_a_mount_waits_for_what_was_written() {
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let answers = move |agent: &mut HandAgent, number, ask: &Ask| {
        let is_write = matches!(ask, Ask::Write(..));
        if is_write {
            let _ = released.lock().recv();
            agent.answer(number, Ok(Answer::Done), b"");
        }
        is_write
    };
    let mounted = Mounted::new("written", Arc::new(answers));
    let mut file =
        File::options().write(true).open(mounted.path("bad/2")).expect("the file exists");
    file.write_all(b"x").expect("it is buffered");
    mounted.mount.write_out(Duration::ZERO);
    assert_eq!(mounted.mount.account().nodes[1].bytes_behind, 1);
    let mount = Arc::clone(&mounted.mount);
    let ending = thread::spawn(move || {
        mount.write_out(DEADLINE);
        mount.account().nodes[1].bytes_behind
    });
    drop(release);
    assert_eq!(ending.join().expect("it ends"), 0);
}
