use garland_protocol::{NameRecord, NamedContent, Secret};

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

fn entry(name: &str, number: u64, manifest: Option<&[u8]>) -> NameEntry {
    let content = |bytes| NamedContent { root: content_digest(bytes), length: 1, files: 1 };
    let record = NameRecord::new(name, number, manifest.map(content), &Secret([1; 32]));
    NameEntry { record, holders: Vec::new() }
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
    assert_eq!(store.keep(&entry("a/b:1", now, Some(b"one")), b"one"), Ok(()));
    assert_eq!(store.keep(&entry("a/b:1", now - 1, Some(b"old")), b"old"), Ok(()));
    assert_eq!(store.manifest("a/b:1").unwrap(), b"one");
    // Further holders come without the manifest, another content does not.
    assert_eq!(store.keep(&entry("a/b:1", now, Some(b"one")), b""), Ok(()));
    assert!(store.keep(&entry("a/b:1", now + 1, Some(b"two")), b"not two").is_err());
    assert_eq!(numbers(&store, Some("a/b:1")), [now]);
    assert_eq!(store.keep(&entry("a/b:1", now + 2, None), b""), Ok(()));
    assert!(store.manifest("a/b:1").is_err());
    assert_eq!(numbers(&store, None), [now + 2]);
}

#[test]
fn what_is_damaged_or_ended_long_ago_is_left_out() {
    let (scratch, store) = store("damaged");
    store.keep(&entry("ended", 1, None), b"").unwrap();
    store.keep(&entry("sound", 2, Some(b"m")), b"m").unwrap();
    fs::write(scratch.0.join("00"), "damaged").unwrap();
    fs::write(scratch.0.join("01.tmp7-0"), "left").unwrap();
    assert_eq!(numbers(&store, None), [2]);
    assert_eq!(numbers(&store, Some("ended")), Vec::<u64>::new(), "it was removed");
}
