//! Nodes that live and take nothing from their links.

use std::fs;
use std::path::{Path, PathBuf};

use garland_testkit::{Process, Scratch, Wire, assert_copied, locals, source, until};

use crate::copy::{await_middle, garland_in};

/// Threads that stand still while this exists.
struct Frozen {
    group: PathBuf,
}

impl Frozen {
    /// Has the threads of `process` with this name stand still, and no others.
    fn new(process: &Process, thread: &str) -> Self {
        // Only groups of version 1 hold threads of several processes and freeze them.
        let all = Path::new("/sys/fs/cgroup/freezer");
        let group = all.join(format!("garland-test-frozen-{}", process.pid));
        fs::create_dir(&group).expect("a group of cgroup v1's freezer");
        let tasks = fs::read_dir(format!("/proc/{}/task", process.pid)).expect("it runs").flatten();
        let is_named = |task: &PathBuf| {
            fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == thread)
        };
        for task in tasks.map(|task| task.path()).filter(is_named) {
            let number = task.file_name().expect("it has one").as_encoded_bytes();
            fs::write(group.join("tasks"), number).expect("the thread is put there");
        }
        fs::write(group.join("freezer.state"), "FROZEN").expect("it stands still");
        Self { group }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = fs::write(self.group.join("freezer.state"), "THAWED");
        let tasks = fs::read_to_string(self.group.join("tasks")).unwrap_or_default();
        for task in tasks.lines() {
            let _ = fs::write("/sys/fs/cgroup/freezer/tasks", task);
        }
        let _ = fs::remove_dir(&self.group);
    }
}

/// Also those that it does not feed: the head sends to one of the nodes that it feeds after the
/// other.
#[test]
fn a_node_that_takes_nothing_keeps_no_other_node_of_a_tree_from_the_file() {
    let scratch = Scratch::new("taking");
    let from = source(&scratch, 64 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let words = ["--json", "--shape", "tree:2", "--order", "list", "source.bin", "local[1-6]:/x"];
    let copy = garland.start_cp(&words);
    await_middle(&scratch, "local6", &from, 0);
    let frozen = Frozen::new(&garland.agent("local1"), "lane");
    let others = || locals(6).filter(|node| node != "local1");
    until("the others have the file", || {
        others().all(|node| scratch.root(&node).join("x").exists())
    });
    assert!(!scratch.root("local1").join("x").exists(), "it stands still");
    drop(frozen);
    let _ = copy.end().with_code(0);
    assert_copied(&scratch, locals(6), "x", &from);
    scratch.assert_nothing_left();
}
