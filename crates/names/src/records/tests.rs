//! All interleavings of commands that change a name, and of keepers that come and go: the keepers'
//! decisions are those of real lists on disk, and the commands' those of this module.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use garland_agent::NameStore;
use garland_protocol::copy::content_digest;
use garland_protocol::names::{HolderKind, NameHolder, NamedContent, RecordKey};
use garland_protocol::wire::Secret;

use super::*;

const NAME: &str = "a";

static KEY: Secret = Secret([1; 32]);

/// The contents that the name may stand for: their manifests.
const CONTENTS: [&[u8]; 2] = [b"first", b"second"];

/// How often a command tries, fewer times than in truth.
const ATTEMPTS: u8 = 3;

/// The clock of all keepers: none of the records is far ahead of it.
const KEEPERS_CLOCK: u64 = 100;

/// A record of the name: what distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Mark {
    number: u64,
    /// The number of the content; `None` if the name has ended.
    content: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Publish(usize),
    Unpublish,
    /// Reads the list, and gives it to keepers that lack something.
    List,
}

/// What a keeper has said to the present order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reply {
    Nothing,
    /// It was away.
    Away,
    /// Its record is this one.
    Has(Option<Mark>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Find,
    /// The keepers of the mask are told to keep a record.
    Keep(Mark, u8),
    Done(Outcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Outcome {
    /// It said that this record is valid.
    Valid(Mark),
    /// It said that there is nothing to do, or why it failed.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Command {
    what: What,
    clock: u64,
    attempts: u8,
    phase: Phase,
    said: Vec<Reply>,
    /// A newer record that a keeper told instead of keeping another one.
    newer: Option<Mark>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Keeper {
    record: Option<Mark>,
    is_up: bool,
    /// The newest record that it has said to be valid.
    acknowledged: Option<Mark>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    keepers: Vec<Keeper>,
    commands: Vec<Command>,
    /// How often keepers still come or go.
    changes: u8,
}

/// A list on disk, in memory, and the records that were made.
struct Lists {
    folder: PathBuf,
    records: HashMap<Mark, NameRecord>,
    /// What a list has after it was told to keep a record.
    decided: HashMap<(Option<Mark>, Mark), Mark>,
    /// What becomes of a command.
    gone_on: HashMap<Command, Command>,
    /// The keepers that were checked.
    checked: HashSet<Vec<Keeper>>,
}

impl Drop for Lists {
    fn drop(&mut self) {
        // It is in memory.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Lists {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(format!("/dev/shm/garland-{name}-{}", std::process::id()));
        Self {
            folder,
            records: HashMap::new(),
            decided: HashMap::new(),
            gone_on: HashMap::new(),
            checked: HashSet::new(),
        }
    }

    fn record(&mut self, mark: Mark) -> NameRecord {
        let content = mark.content.map(|content| NamedContent {
            root: content_digest(CONTENTS[content]),
            length: 1,
            files: 1,
        });
        let new = || NameRecord::new(NAME, mark.number, content, &KEY);
        self.records.entry(mark).or_insert_with(new).clone()
    }

    fn entry(&mut self, mark: Mark) -> NameEntry {
        NameEntry { record: self.record(mark), holders: Vec::new() }
    }

    fn mark(record: &NameRecord) -> Mark {
        let root = record.content().map(|content| content.root);
        let content = root.map(|root| {
            let found = CONTENTS.iter().position(|content| content_digest(content) == root);
            found.expect("all contents are known")
        });
        Mark { number: record.number(), content }
    }

    /// Tells a list that has `old` to keep `new`. Returns what it has then.
    fn keep(&mut self, old: Option<Mark>, new: Mark) -> Mark {
        if let Some(decided) = self.decided.get(&(old, new)) {
            return *decided;
        }
        let _ = std::fs::remove_dir_all(&self.folder);
        let store = NameStore::open(self.folder.clone());
        let manifest = |mark: Mark| mark.content.map_or(&[][..], |content| CONTENTS[content]);
        for mark in old.into_iter().chain([new]) {
            let entry = self.entry(mark);
            let valid =
                store.keep(&entry, manifest(mark), &RecordKey::from_secret(&KEY), KEEPERS_CLOCK);
            let valid = valid.expect("it is kept or a newer one is told");
            let kept = store.find_one(NAME).expect("a record is kept").record;
            assert_eq!(valid, kept, "what is told is what is kept");
        }
        let kept = store.find_one(NAME).expect("a record is kept").record;
        let manifest = store.manifest(NAME).ok();
        let root = kept.content().map(|content| content.root);
        assert_eq!(manifest.map(|manifest| content_digest(&manifest)), root);
        // A member that tells of what it has changes no record.
        for content in CONTENTS {
            let holder =
                NameHolder { node: "n1".to_owned(), kind: HolderKind::Node, path: b"x".to_vec() };
            let held = store.hold(NAME, content_digest(content), holder, |_| true);
            held.expect("it can be told");
        }
        assert_eq!(store.find_one(NAME).map(|it| it.record), Some(kept.clone()));
        let decided = Self::mark(&kept);
        self.decided.insert((old, new), decided);
        decided
    }

    fn answer(&mut self, said: Reply, is_kept: bool) -> Answer {
        match said {
            Reply::Nothing | Reply::Away => Err("away".to_owned()),
            Reply::Has(None) => Ok(NamesAnswer::default()),
            Reply::Has(Some(mark)) if is_kept => {
                Ok(NamesAnswer { kept: Some(self.record(mark)), ..NamesAnswer::default() })
            }
            Reply::Has(Some(mark)) => {
                let entries = BTreeMap::from([(NAME.to_owned(), self.entry(mark))]);
                Ok(NamesAnswer { entries, ..NamesAnswer::default() })
            }
        }
    }

    fn is_newer(&mut self, one: Mark, other: Mark) -> bool {
        self.record(one).is_newer_than(&self.record(other))
    }
}

impl Command {
    fn new(what: What, clock: u64, keepers: usize) -> Self {
        let said = vec![Reply::Nothing; keepers];
        Self { what, clock, attempts: ATTEMPTS, phase: Phase::Find, said, newer: None }
    }

    /// Returns whether it waits for what this keeper says.
    fn awaits(&self, keeper: usize) -> bool {
        let is_asked = match self.phase {
            Phase::Find => true,
            Phase::Keep(_, keepers) => keepers & (1 << keeper) != 0,
            Phase::Done(_) => false,
        };
        is_asked && self.said[keeper] == Reply::Nothing
    }

    /// Goes on when all keepers that it asked have answered.
    fn go_on(&mut self, lists: &mut Lists) {
        if (0..self.said.len()).any(|keeper| self.awaits(keeper)) {
            return;
        }
        if let Some(known) = lists.gone_on.get(self) {
            self.clone_from(known);
            return;
        }
        let before = self.clone();
        self.decide(lists);
        lists.gone_on.insert(before, self.clone());
    }

    /// Does what publish, unpublish and names do when all keepers have answered.
    fn decide(&mut self, lists: &mut Lists) {
        let nothing = vec![Reply::Nothing; self.said.len()];
        let said = std::mem::replace(&mut self.said, nothing);
        match self.phase {
            Phase::Done(_) => {}
            Phase::Find => {
                let answers: Vec<Answer> =
                    said.iter().map(|said| lists.answer(*said, false)).collect();
                let found = newest(answers.iter(), |_| true).remove(NAME);
                self.phase = self.found(found.as_ref(), &answers, lists);
            }
            Phase::Keep(mark, _) => {
                let answers: Vec<Answer> =
                    said.iter().map(|said| lists.answer(*said, true)).collect();
                let record = lists.record(mark);
                let needed = majority(answers.len());
                self.phase = match kept(&record, needed, answers.iter().enumerate()) {
                    Keeping::Kept(_) => Phase::Done(Outcome::Valid(mark)),
                    Keeping::Superseded(newer) if self.attempts > 1 && self.what != What::List => {
                        self.attempts -= 1;
                        self.newer = Some(Lists::mark(&newer));
                        Phase::Find
                    }
                    Keeping::Superseded(_) | Keeping::TooFew(_) => Phase::Done(Outcome::Other),
                };
            }
        }
    }

    fn found(&self, found: Option<&NameEntry>, answers: &[Answer], lists: &mut Lists) -> Phase {
        let all = (1 << answers.len()) - 1;
        let old = found.map(|entry| &entry.record);
        let newer = self.newer.map(|newer| lists.record(newer));
        let newer = newer.filter(|newer| old.is_none_or(|old| newer.is_newer_than(old)));
        let number = NameRecord::number_after(newer.as_ref().or(old), self.clock);
        let is_lost = answers.iter().all(Result::is_err);
        match (self.what, found) {
            _ if is_lost => Phase::Done(Outcome::Other),
            (What::Publish(content), Some(entry))
                if newer.is_none() && Lists::mark(&entry.record).content == Some(content) =>
            {
                Phase::Keep(Lists::mark(&entry.record), all)
            }
            (What::Publish(content), _) => {
                Phase::Keep(Mark { number, content: Some(content) }, all)
            }
            (What::Unpublish, Some(entry)) if entry.record.content().is_some() => {
                Phase::Keep(Mark { number, content: None }, all)
            }
            (What::List, Some(entry)) => {
                let lacking = answers.iter().enumerate().filter(|(_, it)| lacks(it, entry));
                match lacking.fold(0, |mask, (keeper, _)| mask | 1 << keeper) {
                    0 => Phase::Done(Outcome::Other),
                    lacking => Phase::Keep(Lists::mark(&entry.record), lacking),
                }
            }
            (What::Unpublish | What::List, _) => Phase::Done(Outcome::Other),
        }
    }
}

impl World {
    /// Returns all worlds that may follow this one.
    fn next(&self, lists: &mut Lists) -> Vec<Self> {
        let mut next = Vec::new();
        for command in 0..self.commands.len() {
            for keeper in 0..self.keepers.len() {
                if self.commands[command].awaits(keeper) {
                    let mut world = self.clone();
                    world.say(command, keeper, lists);
                    next.push(world);
                }
            }
        }
        for keeper in 0..self.keepers.len() {
            if self.changes > 0 {
                let mut world = self.clone();
                world.keepers[keeper].is_up = !self.keepers[keeper].is_up;
                world.changes -= 1;
                next.push(world);
            }
        }
        next
    }

    /// A keeper answers a command, or is away.
    fn say(&mut self, command: usize, keeper: usize, lists: &mut Lists) {
        let asked = &mut self.commands[command];
        let answering = &mut self.keepers[keeper];
        asked.said[keeper] = match asked.phase {
            _ if !answering.is_up => Reply::Away,
            Phase::Keep(mark, _) => {
                let valid = lists.keep(answering.record, mark);
                answering.record = Some(valid);
                // Older than what it has acknowledged is nothing that it says.
                assert!(answering.acknowledged.is_none_or(|it| !lists.is_newer(it, valid)));
                answering.acknowledged = Some(valid);
                Reply::Has(Some(valid))
            }
            Phase::Find | Phase::Done(_) => Reply::Has(answering.record),
        };
        let before = asked.said.clone();
        asked.go_on(lists);
        if let (Phase::Done(Outcome::Valid(mark)), true) = (asked.phase, asked.what != What::List) {
            // A majority keeps it or a newer one, so that nobody who asks a majority learns of an
            // older one, and nobody who was asked has a newer one.
            let all = self.keepers.iter().filter_map(|keeper| keeper.record);
            let current = all.filter(|record| !lists.is_newer(mark, *record)).count();
            assert!(current >= majority(self.keepers.len()), "{current}: {self:?}");
            let told: Vec<Mark> = before
                .iter()
                .filter_map(|said| if let Reply::Has(mark) = said { *mark } else { None })
                .collect();
            assert!(told.contains(&mark), "{self:?}");
            assert!(!told.iter().any(|other| lists.is_newer(*other, mark)), "{self:?}");
        }
    }

    /// Checks that whoever asks keepers of which one has acknowledged a record learns of no older
    /// one.
    fn check(&self, lists: &mut Lists) {
        if !lists.checked.insert(self.keepers.clone()) {
            return;
        }
        for asked in 1_u32..1 << self.keepers.len() {
            let all = self.keepers.iter().enumerate();
            let asked = all.filter(|(keeper, _)| asked & (1 << keeper) != 0);
            let asked: Vec<&Keeper> = asked.map(|(_, keeper)| keeper).collect();
            let answers: Vec<Answer> =
                asked.iter().map(|keeper| lists.answer(Reply::Has(keeper.record), false)).collect();
            let found = newest(answers.iter(), |_| true).remove(NAME);
            let found = found.map(|entry| entry.record);
            for keeper in asked {
                let Some(acknowledged) = keeper.acknowledged else { continue };
                let acknowledged = lists.record(acknowledged);
                let is_older = found.as_ref().is_none_or(|found| acknowledged.is_newer_than(found));
                assert!(!is_older, "{acknowledged:?} was acknowledged: {self:?}");
            }
        }
    }
}

/// Goes through all worlds that may follow `first`. Returns their number, and that of steps of the
/// longest way.
fn explore(first: World, lists: &mut Lists) -> (usize, usize) {
    let mut seen = HashSet::from([first.clone()]);
    let mut level = vec![first];
    let mut depth = 0;
    loop {
        let mut next = Vec::new();
        for world in &level {
            world.check(lists);
            for after in world.next(lists) {
                if seen.insert(after.clone()) {
                    next.push(after);
                }
            }
        }
        if next.is_empty() {
            return (seen.len(), depth);
        }
        depth += 1;
        level = next;
    }
}

/// Explores all starts in which these keepers have one of `records` or none.
fn explore_all(
    name: &str,
    keepers: &[Option<Mark>],
    commands: &[(What, u64)],
    changes: u8,
) -> (usize, usize) {
    let mut lists = Lists::new(name);
    let keeper =
        |record: &Option<Mark>| Keeper { record: *record, is_up: true, acknowledged: *record };
    let command = |(what, clock): &(What, u64)| Command::new(*what, *clock, keepers.len());
    let first = World {
        keepers: keepers.iter().map(keeper).collect(),
        commands: commands.iter().map(command).collect(),
        changes,
    };
    explore(first, &mut lists)
}

const PUBLISHED: Mark = Mark { number: 5, content: Some(0) };

/// By a clock that is ahead of all others.
const ENDED_LATER: Mark = Mark { number: 50, content: None };

#[test]
fn no_older_record_wins_whoever_publishes_ends_and_lists_while_keepers_come_and_go() {
    let mut worlds = 0;
    let mut longest = 0;
    let everywhere = [Some(PUBLISHED), Some(PUBLISHED)];
    let once = [Some(PUBLISHED), None];
    let ended_by_one = [Some(PUBLISHED), Some(ENDED_LATER)];
    // The clocks of the machines that publish and end it: together, and one ahead of the other.
    for (keepers, publishes, ends) in [
        (ended_by_one, 9, 9),
        (ended_by_one, 9, 3),
        (ended_by_one, 3, 9),
        (everywhere, 9, 3),
        (once, 3, 9),
    ] {
        let commands = [(What::Publish(1), publishes), (What::Unpublish, ends), (What::List, 1)];
        let (seen, depth) = explore_all("three-parties", &keepers, &commands, 2);
        worlds += seen;
        longest = longest.max(depth);
    }
    println!("{worlds} worlds, at most {longest} steps");
    assert!(worlds > 10_000 && longest > 10, "{worlds} {longest}");
}

#[test]
fn no_older_record_wins_of_two_publishers_with_three_keepers() {
    let commands = [(What::Publish(0), 9), (What::Publish(1), 3)];
    let keepers = [Some(PUBLISHED), Some(ENDED_LATER), None];
    let (worlds, longest) = explore_all("two-publishers", &keepers, &commands, 2);
    println!("{worlds} worlds, at most {longest} steps");
    assert!(worlds > 10_000 && longest > 10, "{worlds} {longest}");
}

#[test]
fn records_with_one_number_are_ordered_alike_everywhere() {
    let mut lists = Lists::new("ties");
    let all = [Some(0), Some(1), None].map(|content| Mark { number: 7, content });
    for one in all {
        for other in all {
            assert_eq!(lists.keep(Some(one), other), lists.keep(Some(other), one));
            let is_either = lists.is_newer(one, other) ^ lists.is_newer(other, one);
            assert_eq!(is_either, one != other);
        }
    }
    assert_eq!(lists.keep(Some(all[0]), all[2]), all[2], "the end of a name counts");
}

#[test]
fn a_keeper_that_invents_holders_leaves_room_for_those_of_the_others() {
    let content = NamedContent { root: content_digest(CONTENTS[0]), length: 1, files: 1 };
    let record = NameRecord::new(NAME, 1, Some(content), &KEY);
    let answer = |nodes: Vec<String>| -> Answer {
        let holder = |node| NameHolder { node, kind: HolderKind::Node, path: Vec::new() };
        let holders = nodes.into_iter().map(holder).collect();
        let entry = NameEntry { record: record.clone(), holders };
        let entries = BTreeMap::from([(NAME.to_owned(), entry)]);
        Ok(NamesAnswer { entries, ..NamesAnswer::default() })
    };
    let many = |name: &str| (0..HOLDERS_MAX).map(|number| format!("{name}{number}")).collect();
    let lies = answer(many("invented"));
    let few = answer(vec!["n1".to_owned(), "n2".to_owned()]);
    let known = |node: &str| node.starts_with('n');
    let merged = |answers: [&Answer; 2]| {
        let found = newest(answers.into_iter(), known).remove(NAME).expect("it is told");
        assert_eq!(found.holders.len(), HOLDERS_MAX);
        found.holders.into_iter().map(|holder| holder.node).collect::<Vec<_>>()
    };
    assert_eq!(merged([&lies, &few])[..2], ["n1", "n2"]);
    // Nodes that have standing agents lose no place to others.
    let full: Vec<String> = many("n");
    assert_eq!(merged([&lies, &answer(full.clone())]), full);
    // A keeper that names known nodes falsely has every other place.
    let false_ones = answer(many("nx"));
    let truly = merged([&false_ones, &answer(full)]);
    assert_eq!(truly.iter().filter(|node| !node.starts_with("nx")).count(), HOLDERS_MAX / 2);
}

/// Returns holders with these names, one for each letter.
fn fetchers(names: &str) -> Vec<NameHolder> {
    let holder = |name: char| NameHolder {
        node: name.to_string(),
        kind: HolderKind::Node,
        path: b"x".to_vec(),
    };
    names.chars().map(holder).collect()
}

/// Returns the nodes that fetch a content if the keepers tell these lists, one letter for each.
fn fetching_by(lists: &[&str]) -> String {
    let lists: Vec<Vec<NameHolder>> = lists.iter().map(|names| fetchers(names)).collect();
    let lists: Vec<&[NameHolder]> = lists.iter().map(Vec::as_slice).collect();
    fetching(&lists).into_iter().map(|holder| holder.node.as_str()).collect()
}

#[test]
fn no_keeper_alone_decides_whom_a_node_follows() {
    assert_eq!(fetching_by(&["abc", "abc", "abc"]), "abc");
    // Whatever one says, in whichever place it answers: nodes that only it names are not followed,
    // and those that the others name in one order stay there.
    for lie in ["", "x", "xyz", "cba", "abcx", "xabc", "ccc", "cab", "bxxxxxxxxa"] {
        for at in 0..3 {
            let mut lists = vec!["abc", "abc"];
            lists.insert(at, lie);
            assert_eq!(fetching_by(&lists), "abc", "{lie} at {at}");
        }
    }
}

#[test]
fn a_node_that_told_not_all_keepers_yet_is_followed_as_most_know_it() {
    assert_eq!(fetching_by(&["ab", "abc", "abc"]), "abc");
    assert_eq!(fetching_by(&["ab", "ab", "abc"]), "ab", "one alone may have invented it");
    assert_eq!(fetching_by(&["bac", "abc", "abc"]), "abc");
    assert_eq!(fetching_by(&["ab", "ba"]), "ab", "an order that neither of the two chooses");
    assert_eq!(fetching_by(&["ab", "b"]), "b");
    assert_eq!(fetching_by(&["ba"]), "ba", "there is no other keeper");
    assert_eq!(fetching_by(&[]), "");
}

#[test]
fn a_place_that_one_keeper_invents_for_a_node_does_not_count() {
    let honest = fetchers("ab");
    let mut lie = fetchers("ab");
    lie[1].path = b"elsewhere".to_vec();
    let told = fetching(&[&lie, &honest, &honest]);
    assert_eq!(told, honest.iter().collect::<Vec<_>>());
}

#[test]
fn a_manifest_of_another_digest_is_told_from_one_that_does_not_come() {
    let sent = |manifest: &[u8]| -> Answer {
        Ok(NamesAnswer { manifest: manifest.to_vec(), ..NamesAnswer::default() })
    };
    let answers = [sent(b"junk"), Err("silent".to_owned()), sent(b"first"), sent(b"")];
    let root = content_digest(b"first");
    assert_eq!(manifests(&answers, &root), Manifests { sound: Some(2), other: vec![0, 3] });
    assert_eq!(manifests(&answers[..2], &root), Manifests { sound: None, other: vec![0] });
}

#[test]
fn those_have_a_name_that_have_its_newest_record() {
    let entry = |number: u64| NameEntry {
        record: NameRecord::new(NAME, number, None, &KEY),
        holders: Vec::new(),
    };
    let lists = |entries: &[NameEntry]| -> Answer {
        let named = entries.iter().map(|entry| (NAME.to_owned(), entry.clone()));
        Ok(NamesAnswer { entries: named.collect(), ..NamesAnswer::default() })
    };
    let silent = || -> Answer { Err("silent".to_owned()) };
    let newest = entry(2);
    let count = |answers: &[Answer]| have(answers, &newest);
    assert_eq!(count(&[lists(&[entry(2)]), silent(), lists(&[entry(2)])]), 2);
    assert_eq!(count(&[lists(&[entry(2)]), lists(&[entry(1)])]), 1, "an older one is not it");
    assert_eq!(count(&[lists(&[entry(2)]), lists(&[])]), 1);
    assert_eq!(count(&[silent(), silent()]), 0);
}

#[test]
fn what_too_few_of_the_next_keepers_have_is_handed_over_first() {
    let entry = |name: &str| NameEntry {
        record: NameRecord::new(name, 1, None, &KEY),
        holders: Vec::new(),
    };
    let lists = |names: &str| -> Answer {
        let named = names.chars().map(|name| (name.to_string(), entry(&name.to_string())));
        Ok(NamesAnswer { entries: named.collect(), ..NamesAnswer::default() })
    };
    let found = ["a", "b", "c", "d"].map(entry);
    let order = |answers: &[Answer]| -> String {
        let listed = due(found.iter(), answers, 2);
        let shown = listed.iter().map(|it| match it.is_safe {
            true => it.entry.record.name().to_uppercase(),
            false => it.entry.record.name().to_owned(),
        });
        shown.collect()
    };
    // Upper case: it is safe without that.
    assert_eq!(order(&[lists("abd"), lists("bcd"), lists("bc")]), "aCD");
    let silent = || -> Answer { Err("silent".to_owned()) };
    assert_eq!(order(&[lists("abd"), silent(), lists("bc")]), "acd", "it may lack anything");
    assert_eq!(order(&[lists("abcd"), silent(), lists("abcd")]), "");
    assert_eq!(order(&[silent(), silent()]), "abcd");
}
