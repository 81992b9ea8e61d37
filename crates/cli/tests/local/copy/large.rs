//! Copies of files that are larger than a fifth of memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use garland_sys::cache;
use garland_sys::cgroup::Group;
use garland_testkit::{Garland, RunOutput, Running, Scratch, Wire, source, until};

use crate::copy::garland_in;

/// The memory that the programs of a test may use together, in bytes.
const MEMORY: u64 = 512 << 20;

/// A length of more than a fifth of it, whose last sector is not full.
const LENGTH: u64 = 120 * MIB + 12_345;

const MIB: u64 = 1 << 20;

/// The beginning of the names of groups and directories. The number of the test's process follows.
const START: &str = "garland-large-";

/// A directory on a disk: the system's temporary directory may be a tmpfs.
const DISK: &str = env!("CARGO_TARGET_TMPDIR");

/// A control group with [`MEMORY`], and a directory on a disk for nodes.
struct Place {
    group: Group,
    folder: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        remove_orphans();
        let name = format!("{START}{}-{name}", std::process::id());
        let (above, limit) = groups();
        let group = above.make(&name).expect("a control group");
        std::fs::write(group.path().join(limit), MEMORY.to_string()).expect("it can be limited");
        let folder = Path::new(DISK).join(name);
        std::fs::create_dir(&folder).expect("a new directory");
        Self { group, folder }
    }

    fn cp(&self, garland: &Garland<'_>) -> Running {
        let root = self.folder.to_str().expect("a path in UTF-8");
        let words = ["cp", "--json", "--local-root", root, "source.bin", "local[1-2]:/x"];
        let mut command = garland.command(&words);
        self.group.adopt(&mut command).expect("it can be joined");
        Running::start(command)
    }

    fn copy(&self, node: &str) -> PathBuf {
        self.folder.join(node).join("x")
    }

    /// Asserts that both nodes have the source, and nothing else.
    #[track_caller]
    fn assert_copied(&self, from: &Path) {
        let wanted = std::fs::read(from).expect("the source is there");
        for node in ["local1", "local2"] {
            assert!(std::fs::read(self.copy(node)).expect("it was copied") == wanted, "{node}");
            let names = std::fs::read_dir(self.folder.join(node)).expect("a directory");
            assert_eq!(names.count(), 1, "{node}");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
        until("the end of the programs", || self.group.remove().is_ok());
    }
}

/// Returns the group below which groups with a limit of memory are made, and the file of that
/// limit.
fn groups() -> (Group, &'static str) {
    let v1 = Path::new("/sys/fs/cgroup/memory");
    match v1.exists() {
        true => (Group::at(v1), "memory.limit_in_bytes"),
        false => (Group::at(Path::new("/sys/fs/cgroup")), "memory.max"),
    }
}

/// Removes what tests left that were killed.
fn remove_orphans() {
    let lives = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()?.strip_prefix(START));
        let number = name.and_then(|name| name.split('-').next());
        number.is_none_or(|number| Path::new("/proc").join(number).exists())
    };
    let own = groups().0.below(START).into_iter().flatten();
    own.filter(|group| !lives(group.path())).for_each(|group| drop(group.remove()));
    let folders = std::fs::read_dir(DISK).into_iter().flatten().flatten();
    let folders = folders.map(|folder| folder.path()).filter(|path| !lives(path));
    folders.for_each(|folder| drop(std::fs::remove_dir_all(folder)));
}

/// Returns the number of bytes that `local2` was sent.
#[track_caller]
fn sent(run: RunOutput) -> u64 {
    let result = run.with_code(0).json();
    let node = &result["nodes"][1];
    node["bytes"].as_u64().expect("a number") - node["already"].as_u64().expect("a number")
}

#[test]
fn a_large_file_is_whole_and_hardly_any_of_it_is_left_in_the_page_cache() {
    let scratch = Scratch::new("large");
    let place = Place::new("whole");
    let from = source(&scratch, LENGTH);
    // Zeros are not sent, and so are written in another way.
    let file = File::options().write(true).open(&from).expect("the source is there");
    file.write_all_at(&vec![0; 5 << 20], 30 * MIB + 1000).expect("there is room");
    assert_eq!(sent(place.cp(&garland_in(&scratch)).end()), LENGTH);
    for node in ["local1", "local2"] {
        let copy = File::open(place.copy(node)).expect("it was copied");
        let there = cache::residency(&copy, LENGTH).expect("the kernel tells");
        assert!(there.cached * 4 < there.pages, "{node}: {there:?}");
    }
    place.assert_copied(&from);
}

#[test]
fn a_large_file_is_gone_on_with_after_its_agent_was_killed() {
    let scratch = Scratch::new("large-killed");
    let place = Place::new("killed");
    let from = source(&scratch, LENGTH);
    let slow = garland_in(&scratch).over(Wire::slow(600));
    let copy = place.cp(&slow);
    let root = place.folder.join("local2");
    let agent = || scratch.processes().into_iter().find(|process| process.is_agent(Some(&root)));
    let written = || {
        let files = std::fs::read_dir(&root).into_iter().flatten().flatten();
        // The space of the whole file is reserved.
        let ends: Vec<_> = files.filter_map(|file| File::open(file.path()).ok()).collect();
        let mut byte = [0];
        ends.iter().any(|file| file.read_exact_at(&mut byte, 64 * MIB).is_ok() && byte != [0])
    };
    until("half of the file at local2", written);
    agent().expect("it writes the file").kill();
    let _ = copy.end().with_code(1);
    let again = sent(place.cp(&garland_in(&scratch)).end());
    assert!(again < 80 * MIB, "{again} bytes");
    place.assert_copied(&from);
    scratch.assert_nothing_left();
}
