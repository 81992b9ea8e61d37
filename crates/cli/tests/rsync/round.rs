//! Rounds: a tree is made, copied by both programs, changed and copied again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use garland_testkit::{Chance, Garland, HangingDisk, Oddities, RunOutput, Scratch};

use crate::choice::Choice;
use crate::disks::Disk;
use crate::entries::{self, Compared, Entry, Kind, Side, differences};
use crate::odd::{self, Outcome};
use crate::source::Maker;

/// The copies of a round; between them source and destinations change.
const COPIES: u64 = 4;

/// The exit code of rsync if it could not set everything.
const PARTIAL: i32 = 23;

/// The exit code of rsync if `--max-delete` has stopped it from removing more.
const NOT_ALL_DELETED: i32 = 25;

/// The beginning of 1980, in seconds since 1970: exFAT stores no earlier time.
const EXFAT_BEGIN_S: i64 = 315_532_800;

/// A standing agent, and where its files are.
pub struct Field<'a> {
    garland: Garland<'a>,
    scratch: &'a Scratch,
    disk: Disk,
}

/// The trees of a round.
struct Trees {
    source: PathBuf,
    theirs: PathBuf,
    ours: PathBuf,
    /// The last one as Garland is told it.
    target: &'static str,
    /// The file system that destinations are on, if it is an odd one.
    odd: Option<Odd>,
}

struct Odd {
    oddities: Oddities,
    _mounted: HangingDisk,
}

/// What both programs left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Each name is one of a file that has the same names.
    SameFiles,
    /// Other ones: rsync changes a file in its place, with names of it that are not sent. Changes
    /// of both destinations would not be the same.
    OtherFiles,
    /// Something was in the way, so that rsync would have removed it.
    Obstacles,
}

impl Trees {
    fn new(files: &Path, oddities: Option<Oddities>) -> Self {
        let local = files.join("local1");
        let odd = oddities.map(|oddities| {
            let _mounted = HangingDisk::mount_odd(&local.join("odd"), oddities);
            Odd { oddities, _mounted }
        });
        let (theirs, ours, target) = match odd {
            None => (files.join("theirs"), local.join("ours"), "local1:/ours/"),
            Some(_) => (local.join("odd/theirs"), local.join("odd/ours"), "local1:/odd/ours/"),
        };
        let trees = Self { source: files.join("source"), theirs, ours, target, odd };
        for folder in [&trees.source, &trees.theirs, &trees.ours] {
            let _ = fs::remove_dir_all(folder);
        }
        trees
    }

    /// Returns where copies of the source are.
    fn copies(&self, choice: &Choice) -> [PathBuf; 2] {
        [&self.theirs, &self.ours]
            .map(|top| if choice.contents_only { top.clone() } else { top.join("source") })
    }
}

impl<'a> Field<'a> {
    pub fn up(scratch: &'a Scratch, disk: Disk) -> Self {
        let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
        let files = scratch.path("files");
        fs::create_dir_all(files.join("local1")).expect("it can be made");
        let files = files.to_str().expect("a path of text");
        let _ = garland.run(&["up", "--local-root", files, "local1"]).with_code(0);
        Self { garland, scratch, disk }
    }

    pub fn down(&self) {
        let _ = self.garland.run(&["down", "local1"]).with_code(0);
    }

    /// Plays one round; returns the number of its copies.
    pub fn round(&self, seed: u64, round: u64) -> u64 {
        let chance = &mut Chance::new(seed, round);
        let oddities = (self.disk == Disk::Odd).then(|| odd::draw(chance));
        let trees = Trees::new(&self.scratch.path("files"), oddities);
        let contents_only = chance.below(2) == 0;
        // Garland always keeps them, rsync if it is asked to: without them both leave single files.
        let has_hard_links = chance.below(2) == 0;
        let abilities = self.disk.of_sources();
        Maker { top: &trees.source, abilities, has_hard_links, chance }.make();
        for copy in 0..COPIES {
            // Where links are refused, rsync 3.5 with -H may end early ("protocol
            // incompatibility").
            let hard_links = has_hard_links && self.disk != Disk::Odd;
            let drawn = Choice::draw(chance);
            // If files become names of one file, each program keeps the mode of another one.
            let no_perms = drawn.no_perms && !has_hard_links;
            let choice = Choice { contents_only, hard_links, no_perms, ..drawn };
            let keeps_all = self.disk.of_destinations().modes;
            let choice = if keeps_all { choice } else { choice.setting_all() };
            let place = format!("seed {seed}, round {round}, copy {copy}: {choice:?} {oddities:?}");
            let left = self.copy(&trees, &choice, &place);
            if left == Left::Obstacles {
                return copy + 1;
            }
            Maker { top: &trees.source, abilities, has_hard_links, chance }.change();
            if chance.below(2) == 0 && left == Left::SameFiles {
                let same = chance.below(u64::MAX);
                for top in trees.copies(&choice) {
                    let chance = &mut Chance::new(same, 0);
                    let abilities = self.disk.of_destinations();
                    Maker { top: &top, abilities, has_hard_links: false, chance }.change();
                }
            }
        }
        COPIES
    }

    /// Copies by both programs, and compares what they leave.
    fn copy(&self, trees: &Trees, choice: &Choice, place: &str) -> Left {
        let [theirs, ours] = trees.copies(choice);
        let before = entries::read(&ours);
        let theirs_before = entries::read(&theirs);
        let in_the_way = entries::obstacles(&entries::read(&trees.source), &before);
        if !in_the_way.is_empty() {
            self.copy_onto_obstacles(trees, choice);
            let after = entries::read(&ours);
            for path in in_the_way {
                let was = &before[&path];
                let names = before.values().filter(|entry| entry.inode == was.inode).count();
                if was.kind != Kind::Folder && names > 1 {
                    // Another name of it may get the source's status, as with rsync.
                    assert_eq!(was.content, after[&path].content, "{place}: {path:?}");
                } else {
                    assert_eq!(*was, after[&path], "{place}: {path:?}");
                }
            }
            return Left::Obstacles;
        }
        if choice.delete && choice.max_delete.is_none() && self.sends_nothing(trees, choice) {
            self.refuse_to_empty(trees, choice, place);
            assert!(entries::read(&ours) == before, "{place}: it changed what it refused");
            return Left::OtherFiles;
        }
        let output = self.copy_by_both(trees, choice, place);
        let compared = Compared {
            disk: self.disk,
            xattrs: choice.xattrs,
            times: !choice.no_times,
            modes: !choice.no_perms,
            hard_links: choice.hard_links,
            some_stay: !choice.excluded.is_empty(),
            quick_s: (!choice.checksum).then(|| choice.modify_window.unwrap_or(0)),
        };
        let [source, theirs, ours] = [&trees.source, &theirs, &ours].map(|top| entries::read(top));
        let found = match &trees.odd {
            None => {
                let theirs = Side { before: &theirs_before, after: &theirs };
                differences(&source, theirs, Side { before: &before, after: &ours }, compared)
            }
            Some(odd) => {
                let outcome = Outcome {
                    oddities: odd.oddities,
                    source: &source,
                    theirs: &theirs,
                    ours: &ours,
                    before: &before,
                    deletes: choice.delete,
                    checksum: choice.checksum,
                    output: &output,
                    below: if choice.contents_only { "" } else { "source" },
                    what: compared,
                };
                outcome.faults()
            }
        };
        assert!(found.is_empty(), "{place}\n{}\n{}", found.join("\n"), output.out);
        let is_same = entries::first_names(&theirs) == entries::first_names(&ours);
        if is_same { Left::SameFiles } else { Left::OtherFiles }
    }

    /// Copies where a folder would replace something else or the reverse: it is named, or excluded.
    fn copy_onto_obstacles(&self, trees: &Trees, choice: &Choice) {
        let output = self.garland.run(&ours(trees, choice));
        if trees.odd.is_some() {
            // Perhaps others are named first.
            assert!([0, 3].contains(&output.code), "{choice:?}: {output:?}");
            return;
        }
        let is_named = output.out.contains("is not replaced");
        let has_times = self.forgets_times(trees, choice) && names_only_times(&output.out);
        let expected = if is_named || has_times { 3 } else { 0 };
        assert_eq!(output.code, expected, "{choice:?}: {output:?}");
        assert!(is_named || !choice.excluded.is_empty(), "{choice:?}: {output:?}");
    }

    /// Returns whether there is nothing in the source that rsync would copy.
    fn sends_nothing(&self, trees: &Trees, choice: &Choice) -> bool {
        let empty = self.scratch.path("nowhere/");
        let mut command = Command::new("rsync");
        command.args(choice.of_rsync()).args(["--dry-run", "--itemize-changes"]);
        let output = command.arg(choice.source(&trees.source)).arg(empty).output();
        let listed = String::from_utf8_lossy(&output.expect("rsync is there").stdout).into_owned();
        let top = if choice.contents_only { " ./" } else { " source/" };
        listed.lines().all(|line| line.ends_with(top) || line.starts_with("created directory"))
    }

    /// Copies where rsync would remove all: Garland refuses it, unless it is allowed.
    fn refuse_to_empty(&self, trees: &Trees, choice: &Choice, place: &str) {
        let output = self.garland.run(&ours(trees, choice));
        let is_refused = output.code == 3 && output.err.contains("nothing in it can be copied");
        assert!(is_refused, "{place}\n{}{}", output.out, output.err);
    }

    /// Returns what Garland printed.
    fn copy_by_both(&self, trees: &Trees, choice: &Choice, place: &str) -> RunOutput {
        let is_odd = trees.odd.is_some();
        let mut command = Command::new("rsync");
        command
            .args(choice.of_rsync())
            .arg(choice.source(&trees.source))
            .arg(format!("{}/", trees.theirs.display()));
        let output = command.output().expect("rsync is there");
        let is_partial = is_odd && output.status.code() == Some(PARTIAL);
        let is_stopped = output.status.code() == Some(NOT_ALL_DELETED);
        let is_known = output.status.success() || is_partial || is_stopped;
        assert!(is_known, "{place}\nrsync: {output:?}");
        let output = self.garland.run(&ours(trees, choice));
        let forgets_times = self.forgets_times(trees, choice);
        let is_expected = match output.code {
            // Files with such times may be excluded.
            0 => !is_stopped && (!forgets_times || !choice.excluded.is_empty()),
            3 if is_odd || is_stopped => true,
            3 => forgets_times && names_only_times(&output.out),
            _ => false,
        };
        assert!(is_expected, "{place}\n{}{}", output.out, output.err);
        output
    }

    /// Returns whether files of the source have times that the disk shows only until it is
    /// unmounted. rsync does not say so; Garland names these files.
    fn forgets_times(&self, trees: &Trees, choice: &Choice) -> bool {
        let is_forgotten = |entry: &Entry| entry.kind == Kind::File && entry.time_s < EXFAT_BEGIN_S;
        let are_set = self.disk == Disk::Exfat && !choice.no_times;
        are_set && entries::read(&trees.source).values().any(is_forgotten)
    }
}

/// Returns whether all that a result names is that times are not kept.
fn names_only_times(result: &str) -> bool {
    let all = result.matches("it is there, but ").count();
    let times = "it is there, but its time cannot be set: the file system does not keep it";
    all > 0 && all == result.matches(times).count()
}

/// Returns the arguments of Garland's copy.
fn ours(trees: &Trees, choice: &Choice) -> Vec<String> {
    let mut words = vec!["cp".to_owned()];
    words.extend(choice.of_garland());
    words.extend([choice.source(&trees.source), trees.target.to_owned()]);
    words
}
