//! Tests of the status of an entry.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("garland-status-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(path.join("tree/inner")).unwrap();
        fs::write(path.join("tree/inner/leaf"), "leaf").unwrap();
        fs::write(path.join("tree/other"), "other").unwrap();
        Self(path)
    }

    fn folder(&self) -> OwnedFd {
        fs::File::open(&self.0).unwrap().into()
    }

    fn status(&self, name: &str) -> Status {
        Status::read(self.folder(), OsStr::new(name), &|| false).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_change_in_a_directory_changes_its_status_and_a_new_name_does_not() {
    let scratch = Scratch::new("changes");
    let first = scratch.status("tree");
    assert_eq!(scratch.status("tree"), first);
    fs::create_dir(scratch.0.join("done")).unwrap();
    fs::rename(scratch.0.join("tree"), scratch.0.join("done/tree")).unwrap();
    let moved = scratch.status("done");
    let done = fs::File::open(scratch.0.join("done")).unwrap();
    let now = Status::read(&done, OsStr::new("tree"), &|| false).unwrap();
    assert!(first.is_of_moved(&now) && !first.is_of_moved(&moved));
    fs::rename(scratch.0.join("done/tree"), scratch.0.join("tree")).unwrap();
    let mut known = vec![scratch.status("tree")];
    let tree = scratch.0.join("tree");
    let changes: [&dyn Fn(); 4] = [
        &|| fs::write(tree.join("inner/leaf"), "leaves").unwrap(),
        &|| fs::write(tree.join("inner/new"), "").unwrap(),
        &|| fs::rename(tree.join("other"), tree.join("another")).unwrap(),
        &|| std::os::unix::fs::symlink("nowhere", tree.join("inner/link")).unwrap(),
    ];
    for change in changes {
        change();
        let status = scratch.status("tree");
        assert!(known.iter().all(|before| *before != status && !before.is_of_moved(&status)));
        assert!(known.iter().all(|before| !before.is_of_more_than(&status)));
        known.push(status);
    }
    // Whoever removes something has written nothing.
    fs::remove_file(tree.join("another")).unwrap();
    assert!(known.last().unwrap().is_of_more_than(&scratch.status("tree")));
}

#[test]
fn directories_that_were_moved_made_or_given_away_are_not_taken_for_removals() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("moved-folders");
    let tree = scratch.0.join("tree");
    for path in ["a/x", "b/x", "c/x", "a/gone", "b/gone", "gone", "gone-too"] {
        fs::create_dir_all(tree.join(path).parent().unwrap()).unwrap();
        fs::write(tree.join(path), path).unwrap();
    }
    let before = scratch.status("tree");
    let is_less = || before.is_of_more_than(&scratch.status("tree"));
    fs::remove_file(tree.join("gone")).unwrap();
    assert!(is_less());
    // Also if what is removed from them changes their times once more.
    let swap = || {
        fs::rename(tree.join("a"), tree.join("t")).unwrap();
        fs::rename(tree.join("b"), tree.join("a")).unwrap();
        fs::rename(tree.join("t"), tree.join("b")).unwrap();
    };
    swap();
    fs::remove_file(tree.join("a/gone")).unwrap();
    fs::remove_file(tree.join("b/gone")).unwrap();
    assert!(!is_less());
    swap();
    assert!(is_less());
    fs::create_dir(tree.join("new")).unwrap();
    assert!(!is_less());
    fs::remove_dir(tree.join("new")).unwrap();
    fs::set_permissions(tree.join("c"), PermissionsExt::from_mode(0o711)).unwrap();
    assert!(!is_less());
    fs::remove_dir_all(tree.join("c")).unwrap();
    assert!(is_less());
    fs::set_permissions(&tree, PermissionsExt::from_mode(0o711)).unwrap();
    assert!(!is_less());
}

#[test]
fn what_is_mounted_in_a_directory_is_named_and_not_entered() {
    let refused = |folder: &str, name: &str| {
        let folder = fs::File::open(folder).unwrap();
        Status::read(&folder, OsStr::new(name), &|| false).unwrap_err().to_string()
    };
    assert_eq!(refused("/", "proc"), MOUNTED);
}
