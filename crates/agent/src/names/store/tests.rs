use garland_protocol::names::{NameRecord, NamedContent, RecordKey};
use garland_protocol::wire::Secret;
use garland_sys::clock;

use super::*;

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn store(name: &str) -> (Scratch, NameStore) {
    let path = std::env::temp_dir().join(format!("garland-names-{}-{name}", std::process::id()));
    (Scratch(path.clone()), NameStore::open(path))
}

static KEY: Secret = Secret([1; 32]);

fn entry(name: &str, number: u64, manifest: Option<&[u8]>) -> NameEntry {
    entry_by(&KEY, name, number, manifest)
}

fn entry_by(key: &Secret, name: &str, number: u64, manifest: Option<&[u8]>) -> NameEntry {
    let content = |bytes| NamedContent { root: content_digest(bytes), length: 1, files: 1 };
    let record = NameRecord::new(name, number, manifest.map(content), key);
    NameEntry { record, holders: Vec::new() }
}

fn key() -> RecordKey {
    RecordKey::from_secret(&KEY)
}

fn numbers(store: &NameStore, name: Option<&str>) -> Vec<u64> {
    let mut found = Vec::new();
    store.find(name, |entry| found.push(entry.record.number())).unwrap();
    found.sort_unstable();
    found
}

#[test]
fn the_newest_record_stays_and_its_manifest_belongs_to_it() {
    let (_scratch, store) = store("newest");
    let now = clock::wall_ns();
    let keep = |number, manifest: Option<&[u8]>, sent: &[u8]| {
        store.keep(&entry("a/b:1", number, manifest), sent, &key(), now).map(|valid| valid.number())
    };
    assert_eq!(keep(now, Some(b"one"), b"one"), Ok(now));
    assert_eq!(keep(now - 1, Some(b"old"), b"old"), Ok(now), "the newer one is told");
    assert_eq!(store.manifest("a/b:1").unwrap(), b"one");
    // Further holders come without the manifest, another content does not.
    assert_eq!(keep(now, Some(b"one"), b""), Ok(now));
    assert!(keep(now + 1, Some(b"two"), b"not two").is_err());
    assert_eq!(numbers(&store, Some("a/b:1")), [now]);
    assert_eq!(keep(now + 2, None, b""), Ok(now + 2));
    assert!(store.manifest("a/b:1").is_err());
    assert_eq!(keep(now + 1, Some(b"two"), b"two"), Ok(now + 2), "an ended one counts, too");
    assert_eq!(numbers(&store, None), [now + 2]);
}

#[test]
fn what_is_damaged_is_left_out_and_what_ended_long_ago_stays() {
    let (scratch, store) = store("damaged");
    store.keep(&entry("ended", 1, None), b"", &key(), 1).unwrap();
    store.keep(&entry("sound", 2, Some(b"m")), b"m", &key(), 2).unwrap();
    fs::write(scratch.0.join("00"), "damaged").unwrap();
    fs::write(scratch.0.join("01.tmp7-0"), "left").unwrap();
    let bytes = entry("sound", 2, Some(b"m")).to_bytes();
    fs::write(scratch.0.join("02"), bytes).unwrap();
    assert_eq!(numbers(&store, None), [1, 2], "the copy is told once");
    // An agent that was away cannot bring it back, however long that was.
    let again = store.keep(&entry("ended", 0, Some(b"m")), b"m", &key(), ENDED_KEPT_NS * 3);
    assert_eq!(again.map(|valid| valid.number()), Ok(1));
}

#[test]
fn a_record_of_a_clock_far_ahead_is_refused_unless_it_follows_one() {
    let (_scratch, store) = store("ahead");
    let now = 1_000 * RECORD_AHEAD_MAX_NS;
    let keep = |name: &str, number, wall_ns| {
        store.keep(&entry(name, number, None), b"", &key(), wall_ns).map(|valid| valid.number())
    };
    let far = now + RECORD_AHEAD_MAX_NS + 1;
    let reason = keep("a", far, now).unwrap_err();
    assert_eq!(reason, "the record of a is 24 h ahead of this node's clock");
    assert_eq!(keep("a", u64::MAX, now).map_err(|_| ()), Err(()));
    assert_eq!(keep("a", far - 1, now), Ok(far - 1));
    // The clock of this node went back: what it has goes on, and stays.
    assert_eq!(keep("a", far, 5), Ok(far));
    assert_eq!(keep("a", far - 1, 5), Ok(far));
    assert!(keep("b", far, 5).is_err());
    assert_eq!(numbers(&store, None), [far]);
}

#[test]
fn a_record_that_is_none_of_the_key_counts_for_nothing() {
    let (_scratch, store) = store("foreign");
    let foreign = entry_by(&Secret([2; 32]), "a", 90, None);
    store.keep(&foreign, b"", &RecordKey::from_secret(&Secret([2; 32])), 90).unwrap();
    let valid = store.keep(&entry("a", 5, Some(b"m")), b"m", &key(), 90);
    assert_eq!(valid.map(|valid| valid.number()), Ok(5));
    assert_eq!(numbers(&store, None), [5]);
}

#[test]
fn the_place_of_a_name_that_ended_a_year_ago_is_taken_when_all_are() {
    let (scratch, store) = store("full");
    fs::create_dir_all(&scratch.0).unwrap();
    let put = |entry: NameEntry| {
        fs::write(store.path(entry.record.name()), entry.to_bytes()).unwrap();
    };
    for number in 0..NAMES_MAX as u64 - 2 {
        put(entry(&format!("n{number}"), 9, Some(b"m")));
    }
    put(entry("first", 5, None));
    put(entry("second", 6, None));
    let keep = |name: &str, number| {
        store.keep(&entry(name, number, None), b"", &key(), number).map(|valid| valid.number())
    };
    let year = ENDED_KEPT_NS;
    let full = "it keeps 10000 names already, of which 2 have ended";
    assert_eq!(keep("new", year + 5), Err(full.to_owned()));
    assert_eq!(keep("second", year + 5), Ok(year + 5), "it has a place");
    assert_eq!(keep("new", year + 6), Ok(year + 6));
    assert!(store.find_one("first").is_none() && store.find_one("n0").is_some());
    assert_eq!(keep("more", year + 7), Err(full.to_owned()));
    put(entry_by(&Secret([2; 32]), "n0", 9, Some(b"m")));
    assert_eq!(keep("more", year + 7), Ok(year + 7), "that of an earlier key is free");
    assert!(store.find_one("n0").is_none());
}

#[test]
fn holders_that_the_head_has_no_room_for_are_left_out_of_the_list() {
    let (scratch, store) = store("room");
    fs::create_dir_all(&scratch.0).unwrap();
    let mut long = entry("n", 9, Some(b"m"));
    let holder = |at| NameHolder {
        node: format!("n{at}"),
        kind: garland_protocol::names::HolderKind::Node,
        path: vec![b'x'; 600],
    };
    (0..64).for_each(|at| long.add(holder(at), |_| true));
    for number in 0..1000 {
        let NameEntry { record, .. } = entry(&format!("n{number}"), 9, Some(b"m"));
        let entry = NameEntry { record, holders: long.holders.clone() };
        fs::write(store.path(entry.record.name()), entry.to_bytes()).unwrap();
    }
    let mut memory = 0;
    let mut count = 0;
    store
        .find(None, |entry| {
            memory += entry.memory();
            count += 1;
        })
        .unwrap();
    assert!(count == 1000 && memory < NAMES_MEMORY_MAX, "{count} {memory}");
    store.find(Some("n7"), |entry| assert_eq!(entry.holders.len(), 64)).unwrap();
}

#[test]
fn changes_at_the_same_time_lose_no_newer_record() {
    let (scratch, store) = store("threads");
    store.keep(&entry("a", 1, Some(b"m")), b"m", &key(), 1).unwrap();
    let root = content_digest(b"m");
    let begin = std::sync::Barrier::new(4);
    std::thread::scope(|threads| {
        let begin = &begin;
        for writer in 0..2_u64 {
            let path = scratch.0.clone();
            threads.spawn(move || {
                // Each agent has a value of its own for the directory.
                let store = NameStore::open(path);
                begin.wait();
                for round in 1..200 {
                    let number = round * 2 + writer;
                    let valid = store.keep(&entry("a", number, Some(b"m")), b"m", &key(), number);
                    let now = store.find_one("a").map(|now| now.record.number());
                    assert!(valid.is_ok_and(|valid| valid.number() >= number));
                    assert!(now >= Some(number), "{number} became {now:?}");
                }
            });
        }
        for node in 0..2 {
            let path = scratch.0.clone();
            threads.spawn(move || {
                let store = NameStore::open(path);
                begin.wait();
                for round in 0..200 {
                    let holder = NameHolder {
                        node: format!("n{node}"),
                        kind: garland_protocol::names::HolderKind::Node,
                        path: format!("{round}").into_bytes(),
                    };
                    store.hold("a", root, holder, |_| true).unwrap();
                }
            });
        }
    });
    assert_eq!(numbers(&store, None), [399]);
}

/// Returns the names of the files of a store, in order.
fn files(scratch: &Scratch) -> Vec<String> {
    let files = fs::read_dir(&scratch.0).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn each_entry_has_its_own_manifest_wherever_the_power_fails() {
    let states = [Some(&b"one"[..]), Some(b"two"), None];
    let mut cuts = 0;
    for before in states.into_iter().map(Some).chain([None]) {
        for after in states {
            for taken in 0.. {
                let (scratch, store) = store("power");
                let manifest = |state: Option<&'static [u8]>| state.unwrap_or_default();
                if let Some(before) = before {
                    store.keep(&entry("a", 1, before), manifest(before), &key(), 9).unwrap();
                }
                fs::create_dir_all(&scratch.0).unwrap();
                let new = entry("a", 2, after);
                let plan = store.plan(&new, manifest(after), &key(), 9).unwrap();
                let Plan::Keep(steps) = plan else { panic!("it is the newer one") };
                if taken > steps.len() {
                    break;
                }
                steps.iter().take(taken).for_each(|step| step.take().unwrap());
                cuts += 1;
                // The agent that starts again has one of both, as a whole.
                let store = NameStore::open(scratch.0.clone());
                let found = store.find_one("a").map(|entry| entry.record);
                let of_before = before.map(|before| entry("a", 1, before).record);
                assert!(found == of_before || found.as_ref() == Some(&new.record));
                let content = found.as_ref().and_then(|record| record.content());
                let read = store.manifest("a").ok().map(|manifest| content_digest(&manifest));
                assert_eq!(read, content.map(|content| content.root), "{taken} steps");
                // What is left over goes with the next change, whatever that is.
                store.keep(&entry("b", 1, None), b"", &key(), 9).unwrap();
                let mut wanted: Vec<PathBuf> = vec![store.path("b")];
                wanted.extend(found.iter().map(|_| store.path("a")));
                wanted.extend(content.map(|content| store.manifest_path("a", &content.root)));
                assert_eq!(files(&scratch).len(), wanted.len(), "{taken}: {:?}", files(&scratch));
                assert!(wanted.iter().all(|path| path.exists()));
                // The change is made again, and is whole.
                store.keep(&new, manifest(after), &key(), 9).unwrap();
                let kept = store.manifest("a").ok().map(|manifest| content_digest(&manifest));
                assert_eq!(kept, new.record.content().map(|content| content.root));
                assert_eq!(files(&scratch).len(), 2 + usize::from(after.is_some()));
            }
        }
    }
    assert!(cuts > 30, "{cuts}");
}

#[test]
fn what_a_failed_change_left_goes_with_the_next_one() {
    let (scratch, store) = store("failed");
    store.keep(&entry("a", 1, Some(b"one")), b"one", &key(), 9).unwrap();
    // A directory lies where the entry goes.
    fs::create_dir(store.path("b")).unwrap();
    fs::write(store.path("b").join("x"), "").unwrap();
    store.keep(&entry("b", 1, Some(b"two")), b"two", &key(), 9).unwrap_err();
    fs::remove_dir_all(store.path("b")).unwrap();
    store.keep(&entry("a", 2, Some(b"one")), b"one", &key(), 9).unwrap();
    assert_eq!(files(&scratch).len(), 2, "{:?}", files(&scratch));
}
