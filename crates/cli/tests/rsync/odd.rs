//! Destinations on a file system that refuses or lies: another one in each round.
//!
//! What `docs/copy.md` promises there is more than rsync does, which only ends with 23: a file
//! arrives whole, and is named if some of its metadata was not kept. Further names of a file become
//! copies, which are named, too; rsync is not asked to keep hard links, since it would leave these
//! names out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use garland_testkit::{Chance, Modes, Oddities, RunOutput};

use crate::entries::{Compared, Entries, Entry, Kind};

/// Begins what Garland says of a node on which not everything was set.
const EXCEPT: &str = "copied everything except ";

/// The mode's bits that make a program run as its owner or its group.
const SET_ID: u32 = 0o6000;

/// Draws what the file system of a round does otherwise than others.
pub fn draw(chance: &mut Chance) -> Oddities {
    let mut is_one_in = |number| chance.below(number) == 0;
    Oddities {
        folds: is_one_in(4).then_some(lower),
        lists_folded: false,
        numbers_names: is_one_in(4),
        modes: if is_one_in(3) { Modes::FixedAndRefused } else { Modes::Kept },
        refuses_owners: is_one_in(3),
        refuses_times: is_one_in(6),
        ignores_times: is_one_in(6),
        ignores_single_times: is_one_in(4),
        is_like_exfat: false,
        refuses_colons: false,
        refuses_symlinks: is_one_in(3),
        inodes_max: 0,
        listing_fails: 0,
        time_unit_ns: chance.pick(&[0, 0, 100, 10_000_000, 1_000_000_000, 2_000_000_000]),
    }
}

fn lower(name: &str) -> String {
    name.to_lowercase()
}

/// What a copy by Garland onto such a file system left, and what it is compared with.
pub struct Outcome<'a> {
    pub oddities: Oddities,
    pub source: &'a Entries,
    pub theirs: &'a Entries,
    pub ours: &'a Entries,
    /// What was there before.
    pub before: &'a Entries,
    pub deletes: bool,
    pub checksum: bool,
    /// What Garland printed, and the folder in the destination that the paths in it begin with.
    pub output: &'a RunOutput,
    pub below: &'a str,
    pub what: Compared,
}

/// The paths of entries that are not as in the source.
#[derive(Debug, Default)]
struct Lacking {
    /// Those that have to be named, and those that may be.
    surely: BTreeSet<PathBuf>,
    perhaps: BTreeSet<PathBuf>,
    /// The further names of files, which are copies.
    copies: usize,
}

impl Outcome<'_> {
    /// Returns what is a fault, in words.
    pub fn faults(&self) -> Vec<String> {
        let mut found = self.wrong_paths();
        found.extend(self.wrong_contents());
        let mut lacking = Lacking::default();
        for (path, sent) in self.source {
            match self.ours.get(path) {
                Some(ours) => self.compare(path, sent, ours, &mut lacking, &mut found),
                None if sent.kind == Kind::Link && self.oddities.refuses_symlinks => {
                    lacking.surely.insert(path.clone());
                }
                None if self.what.some_stay => {}
                None => found.push(format!("{path:?} did not arrive")),
            }
        }
        let mut names: BTreeMap<u64, Vec<&PathBuf>> = BTreeMap::new();
        for (path, sent) in self.source.iter().filter(|(_, sent)| sent.kind == Kind::File) {
            names.entry(sent.inode).or_default().push(path);
        }
        for names in names.into_values().filter(|names| names.len() > 1) {
            lacking.copies += names.len() - 1;
            for name in names {
                lacking.surely.remove(name);
                lacking.perhaps.insert(name.clone());
            }
        }
        found.extend(self.wrong_names(&lacking));
        found
    }

    /// Paths that only one of both programs left, against what is promised.
    fn wrong_paths(&self) -> Vec<String> {
        let missing = self.theirs.keys().filter(|path| !self.ours.contains_key(*path));
        let missing = missing.map(|path| format!("{path:?} is missing"));
        let surplus = self.ours.keys().filter(|path| {
            // What was near a failure before may be there longer than what rsync removed.
            let may_stay = !self.deletes || self.what.some_stay || self.is_near_failure(path);
            let is_old = self.before.contains_key(*path) && may_stay;
            let is_known = self.theirs.contains_key(*path) || self.source.contains_key(*path);
            !is_known && !is_old
        });
        missing.chain(surplus.map(|path| format!("{path:?} is too many"))).collect()
    }

    /// Files and links that have neither the bytes of the source nor those that rsync left, and did
    /// not stay by the quick check either.
    fn wrong_contents(&self) -> Vec<String> {
        let is_right = |path: &PathBuf, ours: &Entry| {
            let sent = self.source.get(path);
            let before = self.before.get(path);
            let is_unchanged = sent.is_none_or(|sent| {
                !self.checksum
                    && sent.content.len() == ours.content.len()
                    && ours.time_s == kept(sent.time_s, self.oddities)
            });
            let has_stayed = before.is_some_and(|before| before.content == ours.content);
            // Links that cannot be made leave what was there.
            let is_other = sent.is_some_and(|sent| sent.kind != ours.kind);
            let theirs = self.theirs.get(path);
            let is_one_of_them =
                [sent, theirs].iter().flatten().any(|it| it.content == ours.content);
            let may_stay = is_unchanged || is_other || self.what.some_stay;
            is_one_of_them || has_stayed && may_stay || self.is_of_first_name(path, ours)
        };
        let wrong = self.ours.iter().filter(|(path, ours)| !is_right(path, ours));
        let told = |(path, ours): (&PathBuf, &Entry)| {
            let others = [("sent", self.source), ("rsync", self.theirs), ("before", self.before)];
            let others = others.map(|(word, all)| {
                let entry = all.get(path).map_or_else(|| "nothing".to_owned(), Entry::in_words);
                format!("\n  {word} {entry}")
            });
            format!("content of {path:?}:\n  {}{}", ours.in_words(), others.concat())
        };
        wrong.map(told).collect()
    }

    /// Whether `ours` has what another name of the same file had before, which counts as equal by
    /// length and time: the file's other names follow it, as with `rsync -H`.
    fn is_of_first_name(&self, path: &Path, ours: &Entry) -> bool {
        let Some(sent) = self.source.get(path).filter(|_| !self.checksum) else { return false };
        let names = self.source.iter().filter(|(_, other)| other.inode == sent.inode);
        let before = names.filter_map(|(name, _)| self.before.get(name));
        let mut taken_for_sent = before.filter(|before| {
            before.content.len() == sent.content.len()
                && before.time_s == kept(sent.time_s, self.oddities)
        });
        taken_for_sent.any(|before| before.content == ours.content)
    }

    /// Whether something could not be written into a folder above `path`: nothing is removed from
    /// it.
    fn is_near_failure(&self, path: &Path) -> bool {
        let mut failed = self
            .source
            .iter()
            .filter(|(path, sent)| self.ours.get(*path).is_none_or(|ours| ours.kind != sent.kind));
        failed.any(|(failed, _)| {
            failed.parent().is_some_and(|folder| path.starts_with(folder) && path != folder)
        })
    }

    fn compare(
        &self,
        path: &Path,
        sent: &Entry,
        ours: &Entry,
        lacking: &mut Lacking,
        found: &mut Vec<String>,
    ) {
        let odd = self.oddities;
        let mut lacks = |what: &str, is_allowed: bool, is_sure: bool| {
            let paths = if is_sure { &mut lacking.surely } else { &mut lacking.perhaps };
            paths.insert(path.to_owned());
            if !is_allowed && !self.what.some_stay {
                let words = [ours.in_words(), sent.in_words()].join("\n  ");
                found.push(format!("{what} of {path:?}:\n  {words}"));
            }
        };
        if ours.kind != sent.kind {
            return lacks("kind", odd.refuses_symlinks && sent.kind == Kind::Link, true);
        }
        if ours.mode != sent.mode && sent.kind != Kind::Link {
            // Nobody's set-user-ID or set-group-ID bit is given to another user's file.
            let is_harmless = (ours.mode ^ sent.mode) & !SET_ID == 0 && ours.owner != sent.owner;
            lacks("mode", odd.modes != Modes::Kept || is_harmless, true);
        }
        if ours.owner != sent.owner {
            lacks("owner", odd.refuses_owners, true);
        }
        if ours.time_s != sent.time_s {
            // The time of a folder is another one when somebody else makes something in it.
            let is_sure = sent.kind != Kind::Folder || odd.refuses_times;
            let is_coarse = ours.time_s == kept(sent.time_s, odd);
            lacks("time", is_coarse || odd.refuses_times || odd.ignores_times, is_sure);
        } else if ours.time_ns != sent.time_ns {
            lacks("time", true, false);
        }
        if self.what.xattrs && !sent.xattrs.is_empty() {
            lacks("attributes", true, true);
        }
    }

    /// What is named although nothing is wrong with it, or not named.
    fn wrong_names(&self, lacking: &Lacking) -> Vec<String> {
        let Some((_, said)) = self.output.out.split_once(EXCEPT) else {
            let is_silent = lacking.surely.is_empty() && lacking.copies == 0 || self.what.some_stay;
            let is_right = is_silent && self.output.code == 0;
            let told = || format!("{:?}, but lacking: {lacking:?}", self.output);
            return (!is_right).then(told).into_iter().collect();
        };
        let mut found = Vec::new();
        if self.output.code != 3 {
            found.push(format!("{:?}", self.output));
        }
        let said = said.lines().next().unwrap_or_default();
        let (count, named) = said.split_once(": ").unwrap_or((said, ""));
        let count = count.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
        if lacking.surely.len() + lacking.copies > count && !self.what.some_stay {
            found.push(format!("{count} are told: {said}\n  lacking: {lacking:?}"));
        }
        let named = named.split("; ").filter(|named| !named.starts_with("and "));
        for path in named.filter_map(|named| Some(self.inner(named.split_once(": ")?.0))) {
            if !lacking.surely.contains(&path) && !lacking.perhaps.contains(&path) {
                found.push(format!("{path:?} is named: {said}"));
            }
        }
        found
    }

    /// Returns the path in the tree of one that was printed.
    fn inner(&self, printed: &str) -> PathBuf {
        let path = Path::new(if printed == "." { "" } else { printed });
        path.strip_prefix(self.below).unwrap_or(path).to_owned()
    }
}

/// Returns the seconds that the file system keeps of a time.
fn kept(seconds: i64, odd: Oddities) -> i64 {
    let unit = i64::try_from(odd.time_unit_ns / 1_000_000_000).unwrap_or(1).max(1);
    let seconds = seconds.max(0);
    seconds - seconds % unit
}
