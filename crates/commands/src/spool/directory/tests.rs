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
        self.0.entries().unwrap().entries.into_iter().map(|entry| entry.name).collect()
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
        let entry = spool.0.entries().unwrap().entries.remove(0);
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
    let entry = spool.0.entries().unwrap().entries.remove(0);
    spool.put("a", "new version");
    assert!(!spool.0.has(&entry));
    assert_eq!(spool.0.finish(&entry, &"done").unwrap(), None);
    assert_eq!(fs::read_to_string(spool.0.path().join("a")).unwrap(), "new version");
    assert_eq!(fs::read_dir(spool.0.path().join(DONE)).unwrap().count(), 0);
}

/// A link that another user gave one of the names in a spool, and what it leads to.
fn link_at(spool: &Path, name: &str) -> PathBuf {
    let precious = spool.with_extension("precious");
    fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink(&precious, spool.join(name)).unwrap();
    precious
}

#[test]
fn links_at_names_of_the_spool_are_not_followed() {
    let spool = Spool::new("links");
    let path = spool.0.path();
    spool.put("a", "1");
    let entry = spool.0.entries().unwrap().entries.remove(0);
    let precious = link_at(path, ".a.result.json");
    spool.0.keep_result(&entry, &"waits").unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    // The directory is replaced by a link while it is served.
    let elsewhere = path.with_extension("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::rename(path.join(DONE), path.join(".away")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, path.join(DONE)).unwrap();
    spool.0.finish(&entry, &"done").unwrap().unwrap();
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(path.join(".away/a")).unwrap(), "1");
    fs::remove_dir_all(&elsewhere).unwrap();
    fs::remove_file(&precious).unwrap();
}

#[test]
fn a_spool_whose_lock_or_done_is_a_link_is_refused() {
    let name = format!("garland-spool-refused-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::create_dir_all(&path).unwrap();
    let precious = link_at(&path, LOCK);
    let refused = SpoolDir::open(&path).err().unwrap();
    assert!(refused.message().contains("it is a symbolic link"), "{refused}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    fs::remove_file(path.join(LOCK)).unwrap();
    fs::remove_dir(path.join(DONE)).unwrap();
    let precious = link_at(&path, DONE);
    let refused = SpoolDir::open(&path).err().unwrap();
    assert!(refused.message().contains("it is not a directory"), "{refused}");
    fs::remove_dir_all(&path).unwrap();
    fs::remove_file(&precious).unwrap();
}

#[test]
fn an_entry_that_became_a_link_or_a_pipe_is_not_opened_and_a_pipe_is_left_out() {
    let spool = Spool::new("flipped");
    let path = spool.0.path();
    spool.put("a", "1");
    let entry = spool.0.entries().unwrap().entries.remove(0);
    let writer = fs::OpenOptions::new().append(true).open(path.join("a")).unwrap();
    assert!(spool.0.is_being_written(&entry));
    fs::remove_file(path.join("a")).unwrap();
    let precious = link_at(path, "a");
    assert!(!spool.0.is_being_written(&entry));
    assert!(!entry.is_version(&File::open(&precious).unwrap()));
    fs::remove_file(path.join("a")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, path.join("a"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(!spool.0.is_being_written(&entry), "and opening it did not wait");
    let found = spool.0.entries().unwrap();
    assert!(found.entries.is_empty());
    assert_eq!(found.left_out.len(), 1);
    drop(writer);
    fs::remove_file(&precious).unwrap();
}
