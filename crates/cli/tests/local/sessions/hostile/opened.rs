//! What is opened while peers are hostile.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use garland_testkit::Process;
use rustix::fs::inotify;

/// What is opened, changed, made or removed in some directories.
pub(super) struct Opened(rustix::fd::OwnedFd);

impl Opened {
    pub(super) fn watch(folders: &[impl AsRef<Path>]) -> Self {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let fd = inotify::init(flags).expect("an instance is left");
        let events = inotify::WatchFlags::OPEN
            | inotify::WatchFlags::MODIFY
            | inotify::WatchFlags::ATTRIB
            | inotify::WatchFlags::DELETE
            | inotify::WatchFlags::CREATE
            | inotify::WatchFlags::MOVE;
        for folder in folders {
            let _ = inotify::add_watch(&fd, folder.as_ref(), events).expect("the directory exists");
        }
        Self(fd)
    }

    /// Returns the number of events so far.
    pub(super) fn count(&self) -> usize {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        std::iter::from_fn(|| reader.next().ok().map(|event| format!("{event:?}")))
            .inspect(|event| println!("opened: {event}"))
            .count()
    }
}

/// Every file that some processes open, on any file system.
pub(super) struct OpenedPaths {
    tracer: Child,
    reader: JoinHandle<BTreeSet<String>>,
}

impl OpenedPaths {
    /// Watches from now on. Needs root, and `fatrace`.
    pub(super) fn watch(processes: &[Process]) -> Self {
        let mut command = Command::new("fatrace");
        let mut tracer = command
            .args(["-f", "O"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("fatrace is installed by `cargo xtask soak hostile`");
        let output = tracer.stdout.take().expect("it is piped");
        let names: Vec<String> =
            processes.iter().map(|process| format!("({}): ", process.pid)).collect();
        let reader = std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            let theirs = lines.filter(|line| names.iter().any(|name| line.contains(name)));
            let paths = theirs.filter_map(|line| Some(line.split_once(" /")?.1.to_owned()));
            paths.map(|path| format!("/{path}")).collect()
        });
        Self { tracer, reader }
    }

    /// Returns the paths, each once.
    pub(super) fn end(mut self) -> BTreeSet<String> {
        self.tracer.kill().expect("it is our child");
        let _ = self.tracer.wait().expect("it was killed");
        self.reader.join().expect("the reader does not panic")
    }
}
