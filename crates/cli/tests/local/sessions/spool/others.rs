//! Other users write into a spool, slowly and in all manners, while nodes go and come: each byte on
//! each node is that in `done` in the end. In a soak there are a thousand entries, with pauses of
//! up to three seconds.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use garland_sys::process::user_id;
use garland_testkit::{Chance, Garland, Running, Scratch, random_bytes, until};

use super::{Served, garland_in};

/// The user who writes.
const OTHER: u32 = 12_345;

/// The nodes of the spool.
const NODES: [&str; 3] = ["local1", "local2", "local3"];

/// How an entry comes into the spool.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// A file is written under its name.
    FileInPlace,
    /// A file is written under a hidden name, and renamed.
    FileRenamed,
    /// A file is renamed while it is written.
    FileRenamedEarly,
    /// Files are written in a directory that has its name.
    FolderInPlace,
    /// A directory is renamed when it is complete.
    FolderRenamed,
}

const MANNERS: [Manner; 5] = [
    Manner::FileInPlace,
    Manner::FileRenamed,
    Manner::FileRenamedEarly,
    Manner::FolderInPlace,
    Manner::FolderRenamed,
];

/// How much is written, and how slowly.
#[derive(Clone, Copy)]
struct Size {
    entries: u64,
    writers: u64,
    longest_pause: Duration,
    quiet: &'static str,
    /// The pause between two nodes that are killed.
    calm: Duration,
}

const QUICK: Size = Size {
    entries: 10,
    writers: 10,
    longest_pause: Duration::from_millis(150),
    quiet: "0.3s",
    calm: Duration::from_millis(400),
};

const SOAK: Size = Size {
    entries: 1000,
    writers: 50,
    longest_pause: Duration::from_secs(3),
    quiet: "5s",
    calm: Duration::from_secs(5),
};

/// A user who writes entries.
struct Writer<'a> {
    spool: &'a Path,
    size: Size,
    chance: Chance,
}

/// What an entry consists of: one file, or the files of a directory, each in parts.
fn parts_of(number: u64) -> Vec<Vec<Vec<u8>>> {
    let mut chance = Chance::new(number, 1);
    let files = if is_folder(number) { 1 + chance.below(4) } else { 1 };
    let mut part = |at: u64| random_bytes(1 + chance.below(60_000) as usize, number * 100 + at);
    (0..files).map(|file| (0..3).map(|at| part(file * 10 + at)).collect()).collect()
}

fn manner_of(number: u64) -> Manner {
    MANNERS[number as usize % MANNERS.len()]
}

fn is_folder(number: u64) -> bool {
    matches!(manner_of(number), Manner::FolderInPlace | Manner::FolderRenamed)
}

/// Gives a file away, if this user can do that.
fn give(file: &File) {
    if user_id() == 0 {
        fchown(file, Some(OTHER), Some(OTHER)).expect("the file is given away");
    }
}

impl Writer<'_> {
    fn pause(&mut self) {
        let longest = self.size.longest_pause.as_millis() as u64;
        std::thread::sleep(Duration::from_millis(self.chance.below(longest + 1)));
    }

    fn write(&mut self, number: u64) {
        let name = format!("e{number:04}");
        let shown = self.spool.join(&name);
        let hidden = self.spool.join(format!(".{name}"));
        let parts = parts_of(number);
        match manner_of(number) {
            Manner::FileInPlace => self.file(&shown, &parts[0], None),
            Manner::FileRenamed => {
                self.file(&hidden, &parts[0], None);
                fs::rename(hidden, shown).expect("it is renamed");
            }
            Manner::FileRenamedEarly => self.file(&hidden, &parts[0], Some(&shown)),
            Manner::FolderInPlace => self.folder(&shown, &parts),
            Manner::FolderRenamed => {
                self.folder(&hidden, &parts);
                fs::rename(hidden, shown).expect("it is renamed");
            }
        }
    }

    /// Writes a file in parts; after the first one it gets the name `renamed`.
    fn file(&mut self, path: &Path, parts: &[Vec<u8>], renamed: Option<&Path>) {
        let mut file = File::create(path).expect("the file is made");
        give(&file);
        for (at, part) in parts.iter().enumerate() {
            file.write_all(part).expect("it is written");
            if let Some(renamed) = renamed.filter(|_| at == 0) {
                fs::rename(path, renamed).expect("it is renamed");
            }
            self.pause();
        }
    }

    fn folder(&mut self, path: &Path, files: &[Vec<Vec<u8>>]) {
        fs::create_dir(path).expect("the directory is made");
        let folder = File::open(path).expect("the directory is opened");
        give(&folder);
        // It may be moved to `done` and back meanwhile.
        let folder_path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        for (at, parts) in files.iter().enumerate() {
            self.file(&folder_path.join(format!("f{at}")), parts, None);
        }
    }
}

/// Returns whether `path` is the entry `number`, whole.
fn is_whole(path: &Path, number: u64) -> bool {
    let is_file = |path: &Path, parts: &Vec<Vec<u8>>| {
        fs::read(path).is_ok_and(|content| content == parts.concat())
    };
    let parts = parts_of(number);
    match is_folder(number) {
        false => is_file(path, &parts[0]),
        true => {
            let count = fs::read_dir(path).map_or(0, Iterator::count);
            let mut files = parts.iter().enumerate();
            count == parts.len()
                && files.all(|(at, parts)| is_file(&path.join(format!("f{at}")), parts))
        }
    }
}

/// Starts a command that may not take leases on other users' files, as all users but root.
fn start_as_user(command: Command) -> Running {
    if user_id() != 0 {
        return Running::start(command);
    }
    let mut limited = Command::new("setpriv");
    limited.args(["--bounding-set=-lease", "--inh-caps=-lease"]).arg(command.get_program());
    limited.args(command.get_args()).env_clear();
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    limited.envs(variables);
    if let Some(folder) = command.get_current_dir() {
        limited.current_dir(folder);
    }
    Running::start(limited)
}

/// Kills the agent of one node after the other until `over`.
fn kill_nodes(garland: &Garland<'_>, calm: Duration, over: &AtomicBool) {
    let mut chance = Chance::new(7, 7);
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(calm);
        garland.agent(chance.pick(&NODES)).kill();
    }
}

#[test]
fn what_others_write_slowly_is_whole_on_all_nodes_while_nodes_go_and_come() {
    let is_soak = std::env::var_os("GARLAND_SOAK").is_some();
    let size = if is_soak { SOAK } else { QUICK };
    let scratch = Scratch::new("spool-others");
    let garland = garland_in(&scratch);
    let quiet = ["--quiet", size.quiet];
    let spool = Served::start_by(start_as_user, &garland, &scratch, "local[1-3]", &quiet);
    let next = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| kill_nodes(&garland, size.calm, &over));
        let write = |seed| {
            let chance = Chance::new(seed, 3);
            let mut writer = Writer { spool: &spool.folder, size, chance };
            loop {
                match next.fetch_add(1, Ordering::Relaxed) {
                    number if number < size.entries => writer.write(number),
                    _ => return,
                }
            }
        };
        let writers: Vec<_> =
            (0..size.writers).map(|seed| scope.spawn(move || write(seed))).collect();
        for writer in writers {
            writer.join().expect("a writer ends");
        }
        over.store(true, Ordering::Relaxed);
    });
    for number in 0..size.entries {
        let name = format!("e{number:04}");
        let is_everywhere = |path: PathBuf| is_whole(&path, number);
        until(&format!("{name}, {:?}, is whole", manner_of(number)), || {
            is_everywhere(spool.folder.join("done").join(&name))
                && NODES.iter().all(|node| is_everywhere(scratch.root(node).join("to").join(&name)))
        });
    }
    let left = fs::read_dir(&spool.folder).expect("it is read").flatten();
    let left = left.map(|entry| entry.file_name()).filter(|name| name != "done");
    assert_eq!(left.collect::<Vec<_>>(), Vec::<std::ffi::OsString>::new());
    spool.end(&garland);
    scratch.assert_nothing_left();
}
