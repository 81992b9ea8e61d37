//! Tests of the directory of a spool.

use super::*;

struct Spool(SpoolDir);

impl Spool {
    fn new(name: &str) -> Self {
        let name = format!("garland-spool-{name}-{}", std::process::id());
        Self(SpoolDir::open(&std::env::temp_dir().join(name)).unwrap())
    }

    fn put(&self, name: &str, text: &str) {
        let hidden = self.0.path().join(".new");
        fs::write(&hidden, text).unwrap();
        fs::rename(hidden, self.0.path().join(name)).unwrap();
    }

    fn names(&self) -> Vec<OsString> {
        self.0.entries().unwrap().into_iter().map(|entry| entry.name).collect()
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.path());
    }
}

#[test]
fn entries_come_in_order_and_hidden_ones_are_not_seen() {
    let spool = Spool::new("order");
    spool.put("b", "1");
    // Times of inodes have the resolution of the kernel's clock tick.
    garland_sys::threads::sleep(std::time::Duration::from_millis(20));
    spool.put("a", "2");
    fs::write(spool.0.path().join(".half"), "").unwrap();
    assert_eq!(spool.names(), ["b", "a"]);
    let message = SpoolDir::open(spool.0.path()).err().unwrap();
    assert!(message.message().contains("another garland serves the spool"), "{message}");
}

#[test]
fn a_finished_entry_moves_and_replaces_none() {
    let spool = Spool::new("finish");
    let done = spool.0.path().join(DONE);
    for (text, name) in [("one", "a"), ("two", "a.~1~")] {
        spool.put("a", text);
        let entry = spool.0.entries().unwrap().remove(0);
        spool.0.keep_result(&entry, &"waits").unwrap();
        let moved = spool.0.finish(&entry, &"done").unwrap().unwrap();
        assert_eq!(moved, done.join(name));
        assert_eq!(fs::read_to_string(&moved).unwrap(), text);
        let beside = done.join(format!("{name}{RESULT}"));
        assert_eq!(fs::read_to_string(beside).unwrap(), "\"done\"");
    }
    assert!(spool.names().is_empty());
    assert!(!spool.0.path().join(".a.result.json").exists());
}

#[test]
fn a_version_that_came_after_the_copy_stays() {
    let spool = Spool::new("version");
    spool.put("a", "old");
    let entry = spool.0.entries().unwrap().remove(0);
    spool.put("a", "new version");
    assert!(!spool.0.has(&entry));
    assert_eq!(spool.0.finish(&entry, &"done").unwrap(), None);
    assert_eq!(fs::read_to_string(spool.0.path().join("a")).unwrap(), "new version");
    assert_eq!(fs::read_dir(spool.0.path().join(DONE)).unwrap().count(), 0);
}
