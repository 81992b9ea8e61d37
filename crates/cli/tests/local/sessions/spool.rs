//! `garland up --spool`: what comes into a directory goes to all nodes, also to those that come
//! back later.

mod others;

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use garland_testkit::{Garland, Running, Scratch, random_bytes, until};
use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::garland_in;

/// A spool, and the process that serves it.
struct Served {
    folder: PathBuf,
    running: Running,
}

impl Served {
    fn start(garland: &Garland<'_>, scratch: &Scratch, nodes: &str, more: &[&str]) -> Self {
        Self::start_by(Running::start, garland, scratch, nodes, more)
    }

    /// Starts the command by `start`.
    fn start_by(
        start: impl Fn(Command) -> Running,
        garland: &Garland<'_>,
        scratch: &Scratch,
        nodes: &str,
        more: &[&str],
    ) -> Self {
        let folder = scratch.path("spool");
        fs::create_dir_all(&folder).expect("it is made");
        let spool = folder.to_str().expect("a path of text");
        let target = format!("{nodes}:/to");
        let roots = scratch.path("roots");
        let roots = roots.to_str().expect("a path of text");
        let words = ["up", "--local-root", roots, "--spool", spool, &target];
        let running = start(garland.command(&[&words[..], more].concat()));
        running.await_err("Ctrl-C ends it");
        Self { folder, running }
    }

    /// Puts a file with this content into the spool, as its users do.
    fn put(&self, name: &str, content: &[u8]) {
        let hidden = self.folder.join(format!(".{name}"));
        fs::write(&hidden, content).expect("the file is written");
        fs::rename(hidden, self.folder.join(name)).expect("the file is renamed");
    }

    fn is_done(&self, name: &str) -> bool {
        self.folder.join("done").join(name).exists()
    }

    fn await_done(&self, name: &str) {
        until(&format!("{name} is done"), || self.is_done(name));
    }

    fn end(self, garland: &Garland<'_>) {
        self.running.process().interrupt();
        let _ = self.running.end().with_code(130);
        let _ = garland.run(&["down"]).with_code(0);
    }
}

#[test]
fn nodes_that_are_killed_meanwhile_get_everything() {
    let scratch = Scratch::new("spool");
    let garland = garland_in(&scratch);
    let spool = Served::start(&garland, &scratch, "local[1-4]", &[]);
    let contents: Vec<Vec<u8>> = (0..100).map(|number| random_bytes(40_000, number)).collect();
    let host =
        fs::read_dir(scratch.state()).expect("the directory exists").next().expect("one host");
    let names = host.expect("it is read").path().join("names");
    let keys = || {
        let kept = fs::read_dir(&names).into_iter().flatten().flatten().map(|file| file.path());
        kept.filter(|path| path.extension().is_some_and(|it| it == "key")).collect::<Vec<_>>()
    };
    // With the first name, the agents of a spool know the members as all standing agents do.
    assert_eq!(keys().len(), 0, "names are not used");
    fs::write(scratch.root("local1").join("model"), "content").expect("it is written");
    let _ = garland.run(&["publish", "local1:/model", "--as", "m"]).with_code(0);
    assert_eq!(keys().len(), 4);
    for (number, content) in contents.iter().enumerate() {
        spool.put(&format!("f{number:02}"), content);
        if number == 30 {
            spool.await_done("f10");
            garland.agent("local2").kill();
            keys().iter().for_each(|key| fs::remove_file(key).expect("it is removed"));
            garland.agent("local4").kill();
        }
    }
    for (number, content) in contents.iter().enumerate() {
        let name = format!("f{number:02}");
        spool.await_done(&name);
        for node in ["local1", "local2", "local3", "local4"] {
            let copied =
                fs::read(scratch.root(node).join("to").join(&name)).expect("the file exists");
            assert!(copied == *content, "{name} on {node}");
        }
        let beside = spool.folder.join("done").join(format!("{name}.result.json"));
        let result = fs::read_to_string(beside).expect("the result is beside it");
        assert!(result.contains("garland.cp/"), "{result}");
        assert!(!result.contains("--spool"), "others may read it: {result}");
    }
    until("the keys are there again", || keys().len() == 4);
    spool.end(&garland);
    scratch.assert_nothing_left();
}

#[test]
fn options_hold_for_all_entries_of_a_spool_and_others_are_refused() {
    let scratch = Scratch::new("spool-options");
    let garland = garland_in(&scratch);
    let folder = scratch.path("spool");
    fs::create_dir_all(&folder).expect("it is made");
    fs::write(folder.join("a"), "content").expect("it is written");
    let shown = folder.to_str().expect("a path of text");
    for options in [&["-n", "--delete"][..], &["--min-ok", "1"], &["--exclude-from", "-"]] {
        let words = ["up", "--spool", shown, "local1:/to", "--"];
        let said = garland.run(&[&words[..], options].concat()).with_code(2);
        assert!(said.err.contains("a spool"), "{options:?}: {}", said.err);
    }
    let said = garland.run(&["up", "--spool", shown, "local1"]).with_code(2);
    assert!(said.err.contains("did you mean 'local1:/path'?"), "{}", said.err);
    assert!(!folder.join("done").exists() && !scratch.root("local1").join("to").exists());
    let list = scratch.path("list");
    fs::write(&list, "*.part\n").expect("it is written");
    let from = format!("--exclude-from={}", list.display());
    let spool = Served::start(&garland, &scratch, "local1", &["--", &from, "--xattrs", "--delete"]);
    // The patterns are known for good.
    fs::remove_file(list).expect("it is removed");
    spool.put("b.part", b"part");
    let hidden = folder.join(".c");
    fs::write(&hidden, "content").expect("it is written");
    let name = "user.of";
    setxattr(&hidden, name, b"c", XattrFlags::empty()).expect("it has an attribute");
    fs::rename(hidden, folder.join("c")).expect("it is renamed");
    spool.await_done("c");
    let there = scratch.root("local1").join("to");
    let mut value = [0; 8];
    let length = getxattr(there.join("c"), name, &mut value[..]).expect("it has an attribute");
    assert_eq!(&value[..length], b"c");
    assert!(spool.is_done("a") && there.join("a").exists());
    assert!(folder.join("b.part").exists() && !there.join("b.part").exists());
    spool.end(&garland);
    scratch.assert_nothing_left();
}

#[test]
fn what_a_node_cannot_take_waits_with_the_reason() {
    let scratch = Scratch::new("spool-waits");
    let garland = garland_in(&scratch);
    let spool = Served::start(&garland, &scratch, "local[1-2]", &["--", "--no-fsync"]);
    // The directory of the destination is a file there.
    let wrong = scratch.root("local2").join("to");
    fs::write(&wrong, "").expect("the file is written");
    spool.put("model", b"content");
    spool.running.await_err("waits   model: local2: ");
    assert!(scratch.root("local1").join("to/model").exists());
    let said = garland.run(&["status"]).with_code(0);
    let status = format!("spool   {} to local[1-2]:/to/: 1 waiting\n", spool.folder.display());
    assert!(said.out.starts_with(&status), "{}", said.out);
    assert!(said.out.contains("\nwaits   model: local2: "), "{}", said.out);
    assert!(spool.folder.join(".model.result.json").exists());
    fs::remove_file(wrong).expect("the file is removed");
    spool.await_done("model");
    assert!(!spool.folder.join(".model.result.json").exists());
    assert!(scratch.root("local2").join("to/model").exists());
    let second = garland.run(&[
        "up",
        "--spool",
        spool.folder.to_str().expect("a path of text"),
        "local1:/to",
    ]);
    assert!(second.with_code(2).err.contains("another garland serves the spool"));
    spool.end(&garland);
    let said = garland.run(&["status"]);
    assert!(!said.out.contains("spool"), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn what_is_printed_to_wait_is_in_the_status() {
    let scratch = Scratch::new("spool-told");
    let garland = garland_in(&scratch);
    let spool = Served::start(&garland, &scratch, "local[1-2]", &["--", "--no-fsync"]);
    fs::write(scratch.root("local2").join("to"), "").expect("the file is written");
    // The more entries wait, the less often the record is written.
    let names: Vec<String> = (0..100).map(|number| format!("e{number:02}")).collect();
    for name in &names {
        spool.put(name, b"content");
    }
    for name in &names {
        let line = format!("waits   {name}: local2: ");
        spool.running.await_err(&line);
        let said = garland.run(&["status"]).with_code(0);
        assert!(said.out.contains(&line), "{line}: {}", said.out);
    }
    spool.end(&garland);
    scratch.assert_nothing_left();
}

#[test]
fn a_directory_that_cannot_be_read_whole_waits() {
    let scratch = Scratch::new("spool-whole");
    let garland = garland_in(&scratch);
    let spool = Served::start(&garland, &scratch, "local[1-2]", &["--quiet", "0.3s"]);
    let tree = scratch.path("tree");
    // Directories may be nested 200 deep.
    let deep = (0..202).fold(tree.clone(), |path, _| path.join("d"));
    fs::create_dir_all(&deep).expect("the directories are made");
    fs::write(tree.join("leaf"), "leaf").expect("the file is written");
    fs::rename(&tree, spool.folder.join("tree")).expect("it is renamed");
    spool.running.await_err("waits   tree: local[1-2]: not all of it could be read");
    assert!(scratch.root("local2").join("to/tree/leaf").exists() && !spool.is_done("tree"));
    let first = (0..150).fold(spool.folder.join("tree"), |path, _| path.join("d"));
    fs::remove_dir_all(&first).expect("they are removed");
    spool.await_done("tree");
    spool.end(&garland);
    scratch.assert_nothing_left();
}

#[test]
fn a_file_that_is_being_written_waits_and_a_directory_is_one_entry() {
    let scratch = Scratch::new("spool-written");
    let garland = garland_in(&scratch);
    let spool = Served::start(&garland, &scratch, "local[1-2]", &["--quiet=0.3s", "--json"]);
    let mut file = File::create(spool.folder.join("slow")).expect("the file is made");
    file.write_all(b"first half, ").expect("it is written");
    let tree = scratch.path("tree");
    fs::create_dir_all(tree.join("inner")).expect("the directory is made");
    fs::write(tree.join("inner/leaf"), "leaf").expect("the file is written");
    fs::rename(&tree, spool.folder.join("tree")).expect("it is renamed");
    spool.await_done("tree");
    assert!(!spool.is_done("slow") && !scratch.root("local1").join("to/slow").exists());
    file.write_all(b"second half").expect("it is written");
    drop(file);
    spool.await_done("slow");
    for node in ["local1", "local2"] {
        let to = scratch.root(node).join("to");
        assert_eq!(fs::read_to_string(to.join("slow")).unwrap(), "first half, second half");
        assert_eq!(fs::read_to_string(to.join("tree/inner/leaf")).unwrap(), "leaf");
    }
    let out = spool.running.await_out("two results", |out| out.lines().count() == 2);
    for line in out.lines() {
        let result: serde_json::Value = serde_json::from_str(line).expect("a line is a result");
        assert_eq!(result["nodes"][1]["verdict"], "ok");
    }
    spool.end(&garland);
    scratch.assert_nothing_left();
}

#[test]
fn names_of_250_bytes_and_with_newlines_are_done_and_told_on_one_line() {
    let scratch = Scratch::new("spool-names");
    let garland = garland_in(&scratch);
    let spool = Served::start(&garland, &scratch, "local[1-2]", &[]);
    let long = "L".repeat(250);
    let forged = "z\nok      all nodes: fake: 26 B";
    for name in [long.as_str(), forged, "behind"] {
        spool.put(name, b"content");
        spool.await_done(name);
        assert!(scratch.root("local2").join("to").join(name).exists());
    }
    let said = spool.running.await_out("three lines", |out| out.contains("done    behind"));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[1].starts_with("done    z\\x0aok      all nodes: fake: 26 B: 7 B in"), "{said}");
    let done = spool.folder.join("done");
    let results = fs::read_dir(done).expect("it is read").flatten().map(|file| file.file_name());
    let results = results.filter(|name| name.as_encoded_bytes().ends_with(b".result.json"));
    assert_eq!(results.count(), 3);
    spool.end(&garland);
    scratch.assert_nothing_left();
}
