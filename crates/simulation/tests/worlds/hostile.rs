//! Streams of trees that no honest source sends: names that lead away, links out of the directory,
//! names twice, impossible lengths, records in a false order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use garland_core::tree::{Meta, Record};
use garland_protocol::copy::Verdict;
use garland_simulation::Seeds;
use garland_sys::world::Random;

use crate::room::{Case, DEST, Ended, Kind};
use crate::trial::Trial;

/// Draws the stream of a tree.
pub fn stream(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ 0x7ee);
    let mut bytes = Vec::new();
    for _ in 0..random.below(30) {
        let drawn = record(&mut random);
        bytes.extend(drawn.to_bytes());
        if let Record::File { length, .. } = drawn {
            bytes.extend(vec![7; length.min(random.below(5000)) as usize]);
            bytes.push(random.below(3) as u8);
        }
        if random.once_in(20) {
            bytes.push(random.bits() as u8);
        }
    }
    bytes.extend(Record::End.to_bytes());
    bytes
}

fn record(random: &mut Random) -> Record {
    let name = draw_name(random);
    let meta = draw_meta(random);
    match random.below(12) {
        0..=2 => Record::Enter { name, meta },
        3 => Record::Leave,
        4..=7 => {
            let length = [0, 1, 3000, 200_000, u64::MAX][random.below(5) as usize];
            Record::File { name, meta, length, sparse: false, linked: random.once_in(2) }
        }
        8..=9 => {
            let targets: [&[u8]; 4] = [b"../beside", b"/", b"..", b"a"];
            let target = targets[random.below(4) as usize].to_vec();
            Record::Link { name, meta, target }
        }
        10 => {
            let first = (0..1 + random.below(3)).map(|_| draw_name(random)).collect();
            Record::Name { name, first }
        }
        _ => [Record::Sweep, Record::Spare(vec![b"*".to_vec()]), Record::Top(meta)]
            [random.below(3) as usize]
            .clone(),
    }
}

fn draw_name(random: &mut Random) -> Vec<u8> {
    const PLAIN: [&[u8]; 4] = [b"a", b"b", b"l", b"x"];
    const BAD: [&[u8]; 8] =
        [b"..", b".", b"", b"/tmp/x", b"../beside/x", b"a/../../beside/x", b"a\0b", &[b'n'; 300]];
    match random.once_in(12) {
        true => BAD[random.below(8) as usize].to_vec(),
        false => PLAIN[random.below(4) as usize].to_vec(),
    }
}

fn draw_meta(random: &mut Random) -> Meta {
    let mode = if random.once_in(8) { u32::MAX } else { 0o755 };
    Meta { mode, modified: (random.bits() as i64 >> 8, 5), ..Meta::default() }
}

/// Returns all files and links that are not below the destination, with what they contain.
fn outside(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a directory") {
        let (path, kind) = {
            let entry = entry.expect("an entry");
            (entry.path(), entry.file_type().expect("its type"))
        };
        if kind.is_dir() && !path.ends_with(DEST) {
            all.extend(outside(&path));
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).expect("a link").into_os_string();
            all.insert(path, target.into_encoded_bytes());
        } else if kind.is_file() {
            let contents = fs::read(&path).expect("a file");
            all.insert(path, contents);
        }
    }
    all
}

/// Checks that a copy changed nothing outside of the destination, and ended.
fn judge(_: &Trial, ended: &Ended) {
    assert!(outside(ended.scratch()) == ended.outside, "files outside of the destination changed");
    let outcome = ended.outcome.as_ref().expect("the head lives");
    let is_lost = |verdict: &Verdict| matches!(verdict, Verdict::Dead(_));
    assert!(!outcome.nodes.iter().any(|node| is_lost(&node.verdict)), "an agent died");
    assert!(ended.took < Duration::from_secs(30), "it took {:?}", ended.took);
}

#[test]
fn hostile_trees_change_nothing_outside_of_their_destination() {
    for seed in Seeds::asked_for(20).iter() {
        let gathers = seed % 2 == 0;
        let nodes = if gathers { 1 } else { 2 };
        let length = stream(seed).len() as u64;
        let case = Case { kind: Kind::Hostile { gathers }, ..Case::of_file(seed, nodes, length) };
        Trial::quiet(&case).check(judge);
    }
}

/// Returns what a copy must not change in these directories.
pub fn beside(folders: &[PathBuf]) -> BTreeMap<PathBuf, Vec<u8>> {
    for folder in folders {
        fs::create_dir(folder.join("beside")).expect("a directory");
        fs::write(folder.join("beside/x"), "keep").expect("a file");
    }
    outside(folders[0].parent().expect("the scratch directory"))
}
