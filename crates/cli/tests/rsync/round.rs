//! Rounds: a tree is made, copied by both programs, changed and copied again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use garland_testkit::{Chance, Garland, Scratch};

use crate::choice::Choice;
use crate::disks::Disk;
use crate::entries::{self, Compared, differences};
use crate::source::Maker;

/// The copies of a round; between them source and destinations change.
const COPIES: u64 = 4;

/// A standing agent, and where its files are.
pub struct Field<'a> {
    garland: Garland<'a>,
    scratch: &'a Scratch,
    disk: Disk,
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
        let files = self.scratch.path("files");
        let [source, theirs, ours] = ["source", "theirs", "local1/ours"].map(|it| files.join(it));
        for folder in [&source, &theirs, &ours] {
            let _ = fs::remove_dir_all(folder);
        }
        let disk = self.disk;
        let contents_only = chance.below(2) == 0;
        // Garland always keeps them, rsync if it is asked to: without them both leave single files.
        let hard_links = chance.below(2) == 0;
        Maker { top: &source, disk, has_hard_links: hard_links, chance }.make();
        for copy in 0..COPIES {
            let choice = Choice { contents_only, hard_links, ..Choice::draw(chance) };
            let place = format!("seed {seed}, round {round}, copy {copy}: {choice:?}");
            let inner = |top: &PathBuf| {
                if choice.contents_only { top.clone() } else { top.join("source") }
            };
            let before = entries::read(&inner(&ours));
            let obstacles = entries::obstacles(&entries::read(&source), &before);
            if !obstacles.is_empty() {
                self.copy_onto_obstacles(&choice, &source);
                let after = entries::read(&inner(&ours));
                for path in obstacles {
                    assert_eq!(before[&path], after[&path], "{place}: {path:?}");
                }
                return copy + 1;
            }
            self.copy(&choice, [&source, &theirs], &place);
            let compared = Compared {
                disk,
                xattrs: choice.xattrs,
                hard_links,
                some_stay: !choice.excluded.is_empty(),
            };
            let [of_source, of_theirs, of_ours] =
                [&source, &inner(&theirs), &inner(&ours)].map(|top| entries::read(top));
            let found = differences(&of_source, &of_theirs, &of_ours, compared);
            assert!(found.is_empty(), "{place}\n{}", found.join("\n"));
            Maker { top: &source, disk, has_hard_links: hard_links, chance }.change();
            if chance.below(2) == 0 {
                let same = chance.below(u64::MAX);
                for top in [inner(&theirs), inner(&ours)] {
                    let chance = &mut Chance::new(same, 0);
                    Maker { top: &top, disk, has_hard_links: false, chance }.change();
                }
            }
        }
        COPIES
    }

    /// Copies where a folder would replace something else or the reverse: it is named, or excluded.
    fn copy_onto_obstacles(&self, choice: &Choice, source: &Path) {
        let output = self.garland.run(&ours(choice, source));
        let is_named = output.out.contains("is not replaced");
        assert_eq!(output.code, if is_named { 3 } else { 0 }, "{choice:?}: {output:?}");
        assert!(is_named || !choice.excluded.is_empty(), "{choice:?}: {output:?}");
    }

    fn copy(&self, choice: &Choice, [source, theirs]: [&PathBuf; 2], place: &str) {
        let mut command = Command::new("rsync");
        command
            .args(choice.of_rsync())
            .arg(choice.source(source))
            .arg(format!("{}/", theirs.display()));
        let output = command.output().expect("rsync is there");
        assert!(output.status.success(), "{place}\nrsync: {output:?}");
        let output = self.garland.run(&ours(choice, source));
        assert_eq!(output.code, 0, "{place}\n{}{}", output.out, output.err);
    }
}

/// Returns the arguments of Garland's copy.
fn ours(choice: &Choice, source: &Path) -> Vec<String> {
    let mut words = vec!["cp".to_owned()];
    words.extend(choice.of_garland());
    words.extend([choice.source(source), "local1:/ours/".to_owned()]);
    words
}
