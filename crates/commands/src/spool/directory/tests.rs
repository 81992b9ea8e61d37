//! Tests of the directory of a spool.

use std::os::unix::fs::PermissionsExt;

use garland_sys::mounts::MOUNTED;
use garland_sys::{fuse, process};

use super::*;

struct Spool(SpoolDir);

impl Spool {
    fn new(name: &str) -> Self {
        let name = format!("garland-spool-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(SpoolDir::open(&path).unwrap())
    }

    fn put(&self, name: &str, text: &str) {
        let hidden = self.0.path().join(".new");
        fs::write(&hidden, text).unwrap();
        fs::rename(hidden, self.0.path().join(name)).unwrap();
    }

    fn names(&self) -> Vec<OsString> {
        self.0.entries().unwrap().entries.into_iter().map(|entry| entry.name).collect()
    }

    /// Returns the first entry and its status.
    fn first(&self) -> (Entry, Status) {
        let entry = self.0.entries().unwrap().entries.remove(0);
        let status = self.0.status(&entry, &|| false).unwrap();
        (entry, status)
    }

    /// Moves an entry that was copied with this status to `done`, and returns its path there.
    fn finish(&self, entry: &Entry, copied: &Status) -> PathBuf {
        match self.0.finish(entry, copied, &"done").unwrap() {
            Moved::Whole(place, _) => self.0.path().join(DONE).join(place),
            other => panic!("{other:?}"),
        }
    }

    /// The names in `done`, without hidden ones.
    fn done(&self) -> Vec<OsString> {
        let found = fs::read_dir(self.0.path().join(DONE)).unwrap();
        let names = found.map(|entry| entry.unwrap().file_name());
        let mut names: Vec<OsString> =
            names.filter(|name| !name.as_bytes().starts_with(b".")).collect();
        names.sort();
        names
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
        let (entry, status) = spool.first();
        spool.0.keep_result(&entry, &"waits").unwrap();
        let moved = spool.finish(&entry, &status);
        assert_eq!(moved, done.join(name));
        assert_eq!(fs::read_to_string(&moved).unwrap(), text);
        let beside = done.join(format!("{name}{RESULT}"));
        assert_eq!(fs::read_to_string(beside).unwrap(), "\"done\"");
    }
    assert!(spool.names().is_empty());
    assert!(!spool.0.path().join(".a.result.json").exists());
}

#[test]
fn names_that_leave_no_room_for_a_number_or_a_result_are_cut() {
    let spool = Spool::new("long");
    // The longest one, one with letters of three bytes, and two that begin with the same bytes.
    let names = ["L".repeat(255), "€".repeat(85), "M".repeat(250), "M".repeat(251)];
    for name in &names {
        for _ in 0..2 {
            spool.put(name, "text");
            let (entry, status) = spool.first();
            spool.0.keep_result(&entry, &"waits").unwrap();
            let moved = spool.finish(&entry, &status);
            assert_eq!(fs::read_to_string(moved).unwrap(), "text");
        }
    }
    let done = spool.done();
    assert_eq!(done.len(), 4 * names.len(), "{done:?}");
    assert!(names.iter().all(|name| done.contains(&name.into())));
    assert!(done.iter().all(|name| name.to_str().is_some()), "letters are not cut: {done:?}");
    let left = fs::read_dir(spool.0.path()).unwrap().map(|it| it.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), [DONE]);
}

#[test]
fn a_version_that_came_after_the_copy_stays() {
    let spool = Spool::new("version");
    spool.put("a", "old");
    let (entry, status) = spool.first();
    spool.put("a", "new version");
    assert!(!spool.0.has(&entry));
    assert!(matches!(spool.0.finish(&entry, &status, &"done").unwrap(), Moved::Late(_)));
    assert_eq!(fs::read_to_string(spool.0.path().join("a")).unwrap(), "new version");
    assert!(spool.done().is_empty());
}

#[test]
fn what_was_written_during_the_copy_is_not_done() {
    let spool = Spool::new("late");
    let tree = spool.0.path().join("tree");
    fs::create_dir_all(tree.join("inner")).unwrap();
    fs::write(tree.join("inner/leaf"), "first half").unwrap();
    let (entry, copied) = spool.first();
    fs::write(tree.join("inner/leaf"), "first half, second half").unwrap();
    let Moved::Late(now) = spool.0.finish(&entry, &copied, &"done").unwrap() else {
        panic!("it is not late");
    };
    assert!(spool.done().is_empty(), "{:?}", spool.done());
    assert_eq!(spool.0.status(&entry, &|| false).unwrap(), *now);
    let moved = spool.finish(&entry, &now);
    assert_eq!(fs::read_to_string(moved.join("inner/leaf")).unwrap(), "first half, second half");
}

#[test]
fn what_is_written_in_done_goes_back_to_its_name() {
    let spool = Spool::new("back");
    for text in ["one", "two"] {
        spool.put("a", text);
        let (entry, status) = spool.first();
        spool.finish(&entry, &status);
    }
    spool.0.take_back(OsStr::new("a"), OsStr::new("a.~1~")).unwrap();
    assert_eq!(fs::read_to_string(spool.0.path().join("a")).unwrap(), "two");
    assert_eq!(spool.done(), ["a", "a.result.json"]);
    let taken = spool.0.take_back(OsStr::new("a"), OsStr::new("a"));
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(spool.done(), ["a", "a.result.json"]);
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
    let (entry, status) = spool.first();
    let precious = link_at(path, ".a.result.json");
    spool.0.keep_result(&entry, &"waits").unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    // The directory is replaced by a link while it is served.
    let elsewhere = path.with_extension("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::rename(path.join(DONE), path.join(".away")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, path.join(DONE)).unwrap();
    spool.finish(&entry, &status);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(path.join(".away/a")).unwrap(), "1");
    fs::remove_dir_all(&elsewhere).unwrap();
    fs::remove_file(&precious).unwrap();
}

#[test]
fn a_directory_in_place_of_the_spool_is_neither_read_nor_written() {
    let spool = Spool::new("replaced");
    let path = spool.0.path().to_owned();
    spool.put("a", "own");
    let (entry, status) = spool.first();
    let away = path.with_extension("away");
    fs::rename(&path, &away).unwrap();
    fs::create_dir_all(path.join(DONE)).unwrap();
    fs::write(path.join("a"), "foreign").unwrap();
    assert_eq!(spool.0.entries().unwrap().entries, std::slice::from_ref(&entry));
    let text = io::read_to_string(spool.0.open_file(&entry).unwrap()).unwrap();
    assert_eq!(text, "own");
    spool.0.keep_result(&entry, &"waits").unwrap();
    let finished = spool.0.finish(&entry, &status, &"done").unwrap();
    assert!(matches!(finished, Moved::Whole(..)), "{finished:?}");
    assert_eq!(fs::read_to_string(away.join("done/a")).unwrap(), "own");
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "foreign");
    assert_eq!(fs::read_dir(path.join(DONE)).unwrap().count(), 0);
    spool.0.take_back(OsStr::new("a"), OsStr::new("a")).unwrap();
    assert_eq!(fs::read_to_string(away.join("a")).unwrap(), "own");
    fs::remove_dir_all(&away).unwrap();
}

#[test]
fn a_spool_that_was_removed_cannot_be_read() {
    let spool = Spool::new("removed");
    fs::remove_dir_all(spool.0.path()).unwrap();
    let error = spool.0.entries().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

/// Returns why the spool `path` is refused.
fn refused(path: &Path) -> String {
    let Err(refused) = SpoolDir::open(path) else { panic!("{} is served", path.display()) };
    refused.message().to_owned()
}

#[test]
fn a_directory_that_is_missing_is_not_made() {
    let path = std::env::temp_dir().join(format!("garland-spool-none-{}", std::process::id()));
    let Err(refused) = SpoolDir::open(&path.join("it's")) else { panic!("it is missing") };
    let shown = path.display();
    let wanted = format!(
        "error: opening {shown}/it's: no such file or directory\n\
         hint: to make it: mkdir -p '{shown}/it'\\''s'\n"
    );
    assert_eq!(refused.to_string(), wanted);
    assert!(!path.exists());
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_spool_whose_done_or_lock_is_a_link_is_refused() {
    let name = format!("garland-spool-refused-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::create_dir_all(path.join(DONE)).unwrap();
    let precious = link_at(&path, "done/.garland.lock");
    let why = refused(&path);
    assert!(why.contains("it is a symbolic link"), "{why}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    fs::remove_dir_all(path.join(DONE)).unwrap();
    let precious = link_at(&path, DONE);
    let why = refused(&path);
    assert!(why.contains("it is not a directory"), "{why}");
    fs::remove_dir_all(&path).unwrap();
    fs::remove_file(&precious).unwrap();
}

#[test]
fn a_spool_that_others_can_replace_by_another_directory_is_refused() {
    let name = format!("garland-spool-above-{}", std::process::id());
    let above = std::env::temp_dir().join(name);
    fs::create_dir_all(above.join("spool")).unwrap();
    set_mode(&above, 0o777);
    let why = refused(&above.join("spool"));
    assert!(
        why.ends_with("spool: other users may replace it: its directory has mode 0777"),
        "{why}"
    );
    set_mode(&above, 0o1777);
    assert!(SpoolDir::open(&above.join("spool")).is_ok());
    fs::remove_dir_all(&above).unwrap();
}

#[test]
fn a_spool_in_which_others_can_replace_or_make_what_is_done_is_refused() {
    let spool = Spool::new("owners");
    let path = spool.0.path().to_owned();
    let done = path.join(DONE);
    set_mode(&path, 0o777);
    let why = refused(&path);
    assert!(why.contains("other users may replace it: its directory has mode 0777"), "{why}");
    set_mode(&path, 0o1777);
    set_mode(&done, 0o777);
    let why = refused(&path);
    assert!(why.contains("other users may write to it (mode 0777)"), "{why}");
    set_mode(&done, 0o755);
    assert!(refused(&path).contains("another garland serves"), "all is well");
    if process::user_id() == 0 {
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        let why = refused(&path);
        assert!(why.contains("its directory belongs to user 12345"), "{why}");
    }
}

#[test]
fn a_lock_that_another_user_holds_in_the_spool_is_none() {
    let name = format!("garland-spool-lock-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::create_dir_all(&path).unwrap();
    set_mode(&path, 0o1777);
    let theirs = File::create(path.join(LOCK)).unwrap();
    theirs.lock().unwrap();
    let spool = SpoolDir::open(&path).unwrap();
    assert!(SpoolDir::is_served(&path));
    drop(spool);
    assert!(!SpoolDir::is_served(&path));
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn an_entry_that_became_a_link_or_a_pipe_is_not_opened_and_a_pipe_is_left_out() {
    let spool = Spool::new("flipped");
    let path = spool.0.path();
    spool.put("a", "1");
    let (entry, _) = spool.first();
    let writer = fs::OpenOptions::new().append(true).open(path.join("a")).unwrap();
    assert_eq!(spool.0.writers(&entry), Writers::Present);
    fs::remove_file(path.join("a")).unwrap();
    let precious = link_at(path, "a");
    let opened = spool.0.open_file(&entry).unwrap_err();
    assert_eq!(Errno::from_io_error(&opened), Some(Errno::LOOP), "it was not followed");
    assert_eq!(spool.0.writers(&entry), Writers::Unknown);
    assert!(!entry.is_version(&File::open(&precious).unwrap()));
    fs::remove_file(path.join("a")).unwrap();
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path.join("a"), FileType::Fifo, mode, 0).unwrap();
    assert!(spool.0.open_file(&entry).is_err(), "and opening it did not wait");
    let found = spool.0.entries().unwrap();
    assert!(found.entries.is_empty());
    assert_eq!(found.left_out.len(), 1);
    drop(writer);
    fs::remove_file(&precious).unwrap();
}

/// A file system that answers nothing, as one of another user may do. It is released when this is
/// dropped.
struct Silent(PathBuf, Option<OwnedFd>);

impl Silent {
    fn mount(path: &Path) -> Self {
        fs::create_dir_all(path).unwrap();
        Self(path.to_owned(), Some(fuse::mount(path).unwrap()))
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        self.1 = None;
        let _ = fuse::unmount(&self.0, true);
    }
}

#[test]
fn what_is_mounted_in_a_spool_is_left_out_and_keeps_nobody() {
    let spool = Spool::new("mounted");
    let path = spool.0.path();
    let silent = [Silent::mount(&path.join("stuck")), Silent::mount(&path.join("tree/inner"))];
    spool.put("a", "1");
    let (say, hear) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let found = spool.0.entries().unwrap();
            let tree = found.entries.iter().find(|entry| entry.name == "tree").unwrap();
            let why = spool.0.status(tree, &|| false).unwrap_err();
            let mut names: Vec<OsString> =
                found.entries.iter().map(|entry| entry.name.clone()).collect();
            names.sort();
            say.send((names, found.left_out, why.to_string())).unwrap();
        });
        let heard = hear.recv_timeout(std::time::Duration::from_secs(60));
        // What hangs goes on then.
        drop(silent);
        let (names, left_out, why) = heard.expect("a look hangs");
        assert_eq!(names, ["a", "tree"]);
        assert_eq!(left_out, [("stuck".into(), MOUNTED.to_owned())]);
        assert_eq!(why, "another file system is mounted on inner in it");
    });
}
