//! Copies that are interrupted at random moments, by all that can end them, and made again:
//! everything is as it should be then, and what was sent is what was missing. A hundred of each
//! kind in a soak.

use std::path::{Path, PathBuf};
use std::time::Duration;

use garland_testkit::{Garland, Scratch, Wire, env_number, random_bytes, random_file};
use serde_json::Value;

use crate::again::{BLOCK, bytes_sent, garland_in};

const NODES: [&str; 3] = ["local1", "local2", "local3"];
const FILES: u64 = 24;

/// An undisturbed copy takes no longer than this.
const LONGEST: Duration = Duration::from_millis(1500);

/// Random numbers, others in each round of a soak.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Self {
        let round = env_number("GARLAND_SOAK").unwrap_or(0);
        Self(round.wrapping_mul(1_000_003) ^ seed)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        let bytes = random_bytes(8, self.0).try_into().expect("8 bytes were asked for");
        u64::from_le_bytes(bytes) % end
    }
}

/// How many copies are interrupted.
fn tries() -> u64 {
    if std::env::var_os("GARLAND_SOAK").is_some() { 100 } else { 8 }
}

/// Ends a copy that was begun with these words, somewhere in the middle and somehow.
fn interrupt(scratch: &Scratch, words: &[&str], chance: &mut Chance) -> String {
    let garland: Garland<'_> = garland_in(scratch).over(Wire::slow(800));
    let at = Duration::from_millis(chance.below(LONGEST.as_millis() as u64));
    let copy = garland.start_cp(words);
    std::thread::sleep(at);
    let agents = || scratch.processes().into_iter().filter(|process| process.is_agent(None));
    let how = ["Ctrl-C", "the controller", "an agent", "all agents", "all"];
    let how = how[chance.below(how.len() as u64) as usize];
    match how {
        "Ctrl-C" => copy.process().interrupt(),
        "the controller" => copy.process().kill(),
        "an agent" => agents().take(1).for_each(|agent| agent.kill()),
        "all agents" => agents().for_each(|agent| agent.kill()),
        _ => {
            copy.process().kill();
            agents().for_each(|agent| agent.kill());
        }
    }
    let said = copy.end();
    scratch.assert_nobody_left();
    format!("{how} after {at:?}, code {}", said.code)
}

/// Bytes of the source's blocks that a node hasn't at their places, in the file or what is left of
/// it.
fn missing_of_file(scratch: &Scratch, node: &str, source: &[u8]) -> u64 {
    let own = |path: &PathBuf| path.starts_with(scratch.root(node));
    let left = scratch.partial_files().into_iter().map(|path| scratch.path(path)).filter(own);
    let there: Vec<Vec<u8>> = std::iter::once(scratch.root(node).join("x"))
        .chain(left)
        .filter_map(|path| std::fs::read(path).ok())
        .collect();
    let lacks = |(number, block): (usize, &[u8])| {
        let begin = number * BLOCK as usize;
        let has = |file: &Vec<u8>| file.get(begin..begin + block.len()) == Some(block);
        if there.iter().any(has) { 0 } else { block.len() as u64 }
    };
    source.chunks(BLOCK as usize).enumerate().map(lacks).sum()
}

#[test]
fn a_file_s_copy_goes_on_from_any_moment_and_sends_what_is_missing() {
    let mut chance = Chance::new(11);
    for number in 0..tries() {
        let scratch = Scratch::new("moments-file");
        let length = 28 << 20;
        random_file(&scratch.path("source.bin"), length, number);
        let source = std::fs::read(scratch.path("source.bin")).expect("the file exists");
        let size = BLOCK.to_string();
        let words = ["--json", "--block-size", &size, "source.bin", "local[1-3]:/x"];
        let how = interrupt(&scratch, &words, &mut chance);
        let missing = NODES.map(|node| missing_of_file(&scratch, node, &source));
        let result = garland_in(&scratch).cp(&words).with_code(0).json();
        for (node, missing) in NODES.into_iter().zip(missing) {
            let got = std::fs::read(scratch.root(node).join("x")).expect("the file exists");
            assert!(got == source, "{how}: {node} differs");
            assert_near(bytes_sent(&result, node), missing, length / 50, &format!("{how}: {node}"));
        }
        let of_first = result["sent_bytes"].as_u64().expect("a number");
        assert_near(of_first, missing[0], length / 50, &format!("{how}: over the first wire"));
        scratch.assert_nothing_left();
    }
}

#[track_caller]
fn assert_near(sent: u64, missing: u64, allowed: u64, what: &str) {
    assert!(sent.abs_diff(missing) <= allowed, "{what} was sent {sent} bytes, {missing} lacked");
}

/// The names of the tree's files, with what they have.
fn tree(scratch: &Scratch, seed: u64) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for number in 0..FILES {
        let name = format!("tree/{}/file{number}", number % 5);
        let path = scratch.path(&name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        let length = 200_000 + 90_000 * (number % 23);
        random_file(&path, length, seed * 1000 + number);
        files.push((name, std::fs::read(&path).expect("the file exists")));
    }
    files
}

fn missing_of_tree(root: &Path, files: &[(String, Vec<u8>)]) -> u64 {
    let lacks = |(name, wanted): &(String, Vec<u8>)| {
        let there = std::fs::read(root.join(name)).is_ok_and(|got| got == *wanted);
        if there { 0 } else { wanted.len() as u64 }
    };
    files.iter().map(lacks).sum()
}

#[test]
fn a_tree_s_copy_goes_on_from_any_moment_and_sends_what_is_missing() {
    let mut chance = Chance::new(12);
    for number in 0..tries() {
        let scratch = Scratch::new("moments-tree");
        let files = tree(&scratch, number);
        let all: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let longest = files.iter().map(|(_, bytes)| bytes.len() as u64).max().expect("files");
        let words = ["--json", "-r", "--block-size", "64KiB", "tree", "local[1-3]:/"];
        let how = interrupt(&scratch, &words, &mut chance);
        let missing = NODES.map(|node| missing_of_tree(&scratch.root(node), &files));
        let result = garland_in(&scratch).cp(&words).with_code(0).json();
        for (node, missing) in NODES.into_iter().zip(missing) {
            assert_eq!(missing_of_tree(&scratch.root(node), &files), 0, "{how}: {node} differs");
            // What is there of the file that was being written needn't be sent either.
            let sent = bytes_sent(&result, node);
            let allowed = all / 50 + longest;
            assert!(
                sent <= missing + all / 50 && sent + allowed >= missing,
                "{how}: {node} was sent {sent} bytes, {missing} lacked"
            );
            assert!(names_below(&scratch.root(node).join("tree"), &files), "{how}: {node}");
        }
        scratch.assert_nothing_left();
    }
}

/// Whether a folder has as many files as the tree, and none besides.
fn names_below(folder: &Path, files: &[(String, Vec<u8>)]) -> bool {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |folder: std::fs::DirEntry| std::fs::read_dir(folder.path()).into_iter().flatten();
    folders.flat_map(count).count() == files.len()
}

#[test]
fn what_is_missing_is_what_the_result_says_of_a_first_copy() {
    let scratch = Scratch::new("moments-first");
    random_file(&scratch.path("source.bin"), 5_000_000, 1);
    let source = std::fs::read(scratch.path("source.bin")).expect("the file exists");
    assert_eq!(missing_of_file(&scratch, "local1", &source), 5_000_000);
    let result: Value = garland_in(&scratch).cp(&["--json", "source.bin", "local1:/x"]).json();
    assert_eq!(bytes_sent(&result, "local1"), 5_000_000);
    assert_eq!(missing_of_file(&scratch, "local1", &source), 0);
}
