//! Production code in simulated worlds: the head's driver, agents with their listeners and
//! sessions, lanes, writers, stores and commits. What befalls them is drawn from a seed.

mod fate;
mod forger;
mod hostile;
mod idlers;
mod liar;
mod lies;
mod network;
mod room;
mod staging;
mod tongue;
mod trial;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use garland_core::plan::{FoundStripe, StripeSet};
use garland_protocol::copy::Verdict;
use garland_simulation::Seeds;
use garland_sys::storage::Operation;
use garland_sys::world::{Random, Survival};
use rustix::io::Errno;

use fate::{Blow, Fate};
use room::{Case, Ended, Kind, NAME, older};
use trial::{Trial, verdict};

/// What survives of that which was not synced.
const SURVIVALS: [Survival; 3] = [Survival::Nothing, Survival::Percent(50), Survival::Percent(100)];

/// Draws a copy.
fn draw(seed: u64) -> (Case, Random) {
    let mut random = Random::new(seed ^ 0xfa7e);
    let nodes = 1 + random.below(4) as usize;
    let rails = 1 + random.below(2) as u16;
    let length = 1 + random.below(1_500_000);
    let (nodes, kind) = match random.below(8) {
        0 => (1, Kind::Gather),
        1..=2 => (nodes, Kind::Tree(1 + random.below(40) as u16)),
        3..=4 => (nodes, Kind::Stripes),
        _ => (nodes, Kind::File),
    };
    let has_older = kind == Kind::Stripes || random.once_in(2);
    (Case { rails, kind, has_older, ..Case::of_file(seed, nodes, length) }, random)
}

/// Checks the end of a copy: every node that nothing befell has the files, and no node has a part
/// of one under its name. Where an older file was, it or the newer one is there.
fn judge(Trial { case, fate }: &Trial, ended: &Ended) {
    if case.kind == Kind::Stripes {
        return judge_stripes(ended, fate);
    }
    for (at, folder) in ended.folders.iter().enumerate() {
        let mut has_all = true;
        for (path, contents) in &ended.files {
            let file = fs::read(folder.join(path)).ok();
            let is_newer = file.as_ref() == Some(contents);
            has_all &= is_newer;
            let before = case.has_older.then(|| older(contents));
            let length = file.as_ref().map(Vec::len);
            assert!(
                is_newer || file == before,
                "n{}: {path:?} has {length:?} of {} bytes",
                at + 1,
                contents.len()
            );
        }
        let Some(outcome) = &ended.outcome else { continue };
        let verdict = &outcome.nodes[at].verdict;
        let is_liar = case.liar.is_some_and(|(liar, _)| liar == at);
        let is_victim = is_liar || fate::harms(fate, at);
        assert!(*verdict == Verdict::Ok || is_victim, "n{} is {verdict:?}", at + 1);
        assert!(*verdict != Verdict::Ok || has_all || is_liar, "n{} lacks files", at + 1);
        // Files of a tree get their names before the commit.
        let is_unseen =
            has_all && !is_liar && matches!(verdict, Verdict::Dead(_)) && case.kind == Kind::File;
        assert!(!is_unseen, "n{} has the file, but is {verdict:?}", at + 1);
    }
}

/// Checks the end of a striped copy: one of the two files can always be read, and it is the newer
/// one if the copy says so. All servers get it or none.
fn judge_stripes(ended: &Ended, fate: &Fate) {
    let joined = stripes_of(ended);
    let newer = ended.files.values().next().expect("a file");
    let is_newer = joined == *newer;
    assert!(is_newer || joined == older(newer), "a mixture of both files");
    let Some(outcome) = &ended.outcome else { return };
    let ok = outcome.nodes.iter().filter(|node| node.verdict == Verdict::Ok).count();
    let verdicts = || outcome.nodes.iter().map(|node| &node.verdict).collect::<Vec<_>>();
    assert!(ok == 0 || is_newer, "the older file, but {:?}", verdicts());
    let any_victim = (0..outcome.nodes.len()).any(|node| fate::harms(fate, node));
    assert!(ok == outcome.nodes.len() || any_victim, "{:?}", verdicts());
}

/// Joins the stripes of the file that can be read.
fn stripes_of(ended: &Ended) -> Vec<u8> {
    let folders = ended.folders.iter().enumerate();
    let found: Vec<FoundStripe> =
        folders.flat_map(|(node, folder)| stripes_in(node, folder)).collect();
    let set = StripeSet::assemble(&found).unwrap_or_else(|error| panic!("{error}: {found:?}"));
    let parts = set.stripes.iter().map(|place| {
        let FoundStripe { node, suffix, .. } = &found[*place];
        let folder = &ended.folders[node[1..].parse::<usize>().expect("a number") - 1];
        fs::read(folder.join(format!("{NAME}{suffix}"))).expect("a stripe")
    });
    let mut parts: Vec<std::vec::IntoIter<u8>> = parts.map(Vec::into_iter).collect();
    let unit = set.manifest.stripes.unit as usize;
    let mut joined = Vec::new();
    while parts.iter().any(|part| part.len() > 0) {
        parts.iter_mut().for_each(|part| joined.extend(part.take(unit)));
    }
    joined
}

/// Returns the stripes in the directory of the node with this number, from 0.
fn stripes_in(node: usize, folder: &Path) -> Vec<FoundStripe> {
    let entries = fs::read_dir(folder).expect("a node's directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let names = names.map(|name| name.expect("a name in UTF-8"));
    let suffixes =
        names.filter_map(|name| Some(name.strip_prefix(NAME)?.strip_suffix(".toml")?.to_owned()));
    let stripe = |suffix: String| {
        let path = folder.join(format!("{NAME}{suffix}"));
        let text = fs::read_to_string(path.with_file_name(format!("{NAME}{suffix}.toml")));
        FoundStripe {
            node: format!("n{}", node + 1),
            length: fs::metadata(path).ok().map(|stat| stat.len()),
            text: text.expect("a manifest"),
            suffix,
        }
    };
    suffixes.map(stripe).collect()
}

#[test]
fn a_copy_in_a_world_gives_every_node_the_file() {
    for seed in Seeds::asked_for(30).iter() {
        let (case, _) = draw(seed);
        let ended = Trial::quiet(&case).check(judge);
        assert!(ended.took < Duration::from_secs(2), "{case:?} took {:?}", ended.took);
        let nodes = ended.outcome.expect("the head lives").nodes;
        assert!(nodes.iter().all(|node| node.reopened == 0), "no link of {case:?} broke");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..10 {
        let (case, _) = draw(seed);
        let took = || case.run(|_| ()).took;
        assert_eq!(took(), took(), "{case:?}");
    }
}

#[test]
fn deaths_pauses_and_cuts_cost_only_their_victims() {
    for seed in Seeds::asked_for(100).iter() {
        let (case, mut random) = draw(seed);
        let fate = fate::draw(case.nodes, Duration::from_millis(40), &mut random);
        Trial { case, fate }.check(judge);
    }
}

#[test]
fn a_head_that_is_killed_leaves_whole_files_or_none() {
    for seed in Seeds::asked_for(100).iter() {
        let (case, mut random) = draw(seed);
        let at = Duration::from_nanos(random.below(50_000_000));
        Trial::new(&case, at, Blow::KillHead).check(judge);
    }
}

#[test]
fn stripes_survive_a_death_at_any_step_of_their_commit() {
    let case = Case { kind: Kind::Stripes, has_older: true, ..Case::of_file(5, 3, 300_000) };
    let took = case.run(|_| ()).took;
    for blow in [Blow::KillHead, Blow::Kill(1)] {
        let mut newer = BTreeSet::new();
        for step in 1..=40 {
            let at = took.saturating_sub(Duration::from_micros(step * 450));
            let ended = Trial::new(&case, at, blow).check(judge);
            newer.insert(stripes_of(&ended) == *ended.files.values().next().expect("a file"));
        }
        assert_eq!(newer.len(), 2, "{blow:?} came before the commit and after it");
    }
}

#[test]
fn power_that_fails_at_any_step_leaves_the_old_file_or_the_new_one() {
    let kinds = [Kind::File, Kind::Stripes, Kind::Gather, Kind::Tree(12)];
    for (seed, kind) in (6..).zip(kinds) {
        let nodes = if kind == Kind::Gather { 1 } else { 2 };
        let case = Case { kind, has_older: true, ..Case::of_file(seed, nodes, 300_000) };
        let mut newer = BTreeSet::new();
        let mut nth = 0;
        let mut is_over = false;
        while !is_over {
            for survival in SURVIVALS {
                let ended = case.run(move |cast| {
                    let process = if kind == Kind::Gather { cast.head } else { cast.nodes[0] };
                    process.power_off_at(nth, survival);
                });
                judge(&Trial::new(&case, Duration::ZERO, Blow::PowerOff(0)), &ended);
                newer.insert(has_newer(&ended));
                let outcome = ended.outcome.as_ref();
                is_over = outcome.is_some_and(|it| it.nodes[0].verdict == Verdict::Ok);
            }
            nth += 1;
        }
        assert!(nth > 7, "{kind:?} has only {nth} calls");
        assert_eq!(newer.len(), 2, "{kind:?}: the power failed before the commit and after it");
    }
}

/// Returns whether the first node has all of the newer files.
fn has_newer(ended: &Ended) -> bool {
    let reads = |path: &PathBuf| fs::read(ended.folders[0].join(path)).ok();
    match ended.files.iter().next() {
        Some((path, _)) if reads(path).is_none() => stripes_of(ended) == ended.files[path],
        _ => ended.files.iter().all(|(path, contents)| reads(path).as_ref() == Some(contents)),
    }
}

#[test]
fn a_disk_that_is_full_at_any_write_costs_only_its_node() {
    let case = Case::of_file(1, 3, 1_000_000);
    // 16 blocks: each is written once.
    for nth in 0..=16 {
        for node in 0..case.nodes {
            let ended = case.run(move |cast| {
                cast.nodes[node].fail_disk(Operation::Write, nth, Errno::NOSPC);
            });
            judge(&Trial::new(&case, Duration::ZERO, Blow::Disk(node)), &ended);
            let is_ok = *verdict(&ended, node) == Verdict::Ok;
            assert_eq!(is_ok, nth == 16, "write {nth} of n{}", node + 1);
            let said = format!("{:?}", verdict(&ended, node));
            assert!(is_ok || said.contains("no space left"), "{said}");
            assert!(is_ok || names(&ended, node).is_empty(), "{:?}", names(&ended, node));
        }
    }
}

#[test]
fn a_disk_that_is_full_within_a_tree_costs_only_its_node() {
    let case = Case { kind: Kind::Tree(20), ..Case::of_file(4, 2, 400_000) };
    let mut failed = 0;
    for nth in 0..40 {
        let ended =
            case.run(move |cast| cast.nodes[0].fail_disk(Operation::Write, nth, Errno::NOSPC));
        judge(&Trial::new(&case, Duration::ZERO, Blow::Disk(0)), &ended);
        failed += u32::from(*verdict(&ended, 0) != Verdict::Ok);
    }
    assert!((10..40).contains(&failed), "{failed} of 40 failed");
}

#[test]
fn a_disk_that_cannot_commit_costs_only_its_node() {
    let case = Case::of_file(2, 3, 300_000);
    for (operation, nth) in [(Operation::Sync, 0), (Operation::Sync, 1), (Operation::Rename, 0)] {
        for node in 0..case.nodes {
            let ended = case.run(move |cast| cast.nodes[node].fail_disk(operation, nth, Errno::IO));
            judge(&Trial::new(&case, Duration::ZERO, Blow::Disk(node)), &ended);
            assert_ne!(*verdict(&ended, node), Verdict::Ok, "{operation:?} {nth}");
            // The last call makes the name stable: the file has it then.
            let left = names(&ended, node);
            let is_named = (operation, nth) == (Operation::Sync, 1);
            assert_eq!(left, if is_named { vec![NAME] } else { vec![] }, "{operation:?} {nth}");
        }
    }
}

#[test]
fn a_head_that_is_killed_at_any_step_of_the_commit_leaves_whole_files_or_none() {
    let case = Case::of_file(3, 3, 300_000);
    let took = case.run(|_| ()).took;
    let mut states = BTreeSet::new();
    // The commit is the last part; the steps are shorter than any call or message takes.
    for step in 1..=100 {
        let at = took.saturating_sub(Duration::from_micros(step * 200));
        let ended = Trial::new(&case, at, Blow::KillHead).check(judge);
        let has = |folder: &PathBuf| folder.join(NAME).exists();
        states.insert(ended.folders.iter().filter(|folder| has(folder)).count());
    }
    // It was killed before the first and after the last commit, and in between.
    assert!(states.contains(&0) && states.contains(&3) && states.len() > 2, "{states:?}");
}

/// Returns the names in a node's directory, sorted.
fn names(ended: &Ended, node: usize) -> Vec<String> {
    let entries = fs::read_dir(&ended.folders[node]).expect("the node's directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
