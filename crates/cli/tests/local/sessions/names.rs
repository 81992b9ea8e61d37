//! Names for content: what is published is fetched from its holders, verified.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use garland_protocol::copy::content_digest;
use garland_protocol::names::{HolderKind, NameEntry, NameHolder, NameRecord};
use garland_protocol::wire::Secret;
use garland_sys::clock;
use garland_testkit::{
    Garland, HangingDisk, HangsIn, Manner, RunOutput, Scratch, Site, random_bytes, until,
};
use serde_json::Value;

use super::garland_in;

/// Local nodes with standing agents.
struct Nodes<'a> {
    garland: &'a Garland<'a>,
    scratch: &'a Scratch,
}

impl<'a> Nodes<'a> {
    fn up(garland: &'a Garland<'a>, scratch: &'a Scratch, nodes: &str) -> Self {
        let nodes = (Self { garland, scratch }, nodes);
        nodes.0.start(nodes.1);
        nodes.0
    }

    fn start(&self, nodes: &str) {
        let _ = self.run(&["up", "--local-root", &self.roots(), nodes]).with_code(0);
    }

    fn roots(&self) -> String {
        self.scratch.path("roots").to_str().expect("a path of text").to_owned()
    }

    fn run(&self, words: &[&str]) -> RunOutput {
        self.garland.run(words)
    }

    fn get(&self, name: &str, to: &str) -> RunOutput {
        self.run(&["get", "--json", "--local-root", &self.roots(), name, to])
    }

    fn path(&self, node: &str, path: &str) -> PathBuf {
        self.scratch.root(node).join(path)
    }

    /// Writes a file on nodes.
    fn write(&self, nodes: &[&str], path: &str, content: &[u8]) {
        for node in nodes {
            let path = self.path(node, path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it is made");
            fs::write(path, content).expect("it is written");
        }
    }

    fn assert_has(&self, nodes: &[&str], path: &str, content: &[u8]) {
        for node in nodes {
            let bytes = fs::read(self.path(node, path)).expect("the file exists");
            assert!(bytes == content, "{path} on {node}");
        }
    }

    /// Returns the lines of `garland names`, up to the root.
    fn names(&self) -> Vec<String> {
        let out = self.run(&["names"]).with_code(0).out;
        let without_root = |line: &str| {
            let (before, behind) = line.split_once(", root ").unwrap_or((line, ""));
            format!("{before}{}", behind.get(12..).unwrap_or_default())
        };
        out.lines().map(without_root).collect()
    }

    /// Returns the directory in which the agents keep names.
    fn lists(&self) -> PathBuf {
        let host = fs::read_dir(self.scratch.state()).expect("the directory exists").next();
        host.expect("one host").expect("it is read").path().join("names")
    }

    /// Returns the directory of each agent that keeps names, in no order.
    fn keepers(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.lists()).expect("the agents keep names").flatten();
        // Beside each is the directory of the contents that its agent serves.
        let is_list = |path: &PathBuf| path.is_dir() && path.extension().is_none();
        all.map(|folder| folder.path()).filter(is_list).collect()
    }

    /// Returns the number of contents that all agents serve.
    fn served(&self) -> usize {
        let is_held = |path: &PathBuf| path.extension().is_some_and(|end| end == "held");
        let files = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
        let agents = files(self.lists()).map(|agent| agent.path()).filter(is_held);
        agents.flat_map(files).filter(|file| is_held(&file.path())).count()
    }

    /// Returns the key that signs records.
    fn signer(&self) -> Secret {
        let state = self.lists().parent().expect("the state of the host").to_owned();
        let key = fs::read(state.join("controller.key")).expect("the controller has a key");
        Secret(key[..32].try_into().expect("a private key has 32 bytes"))
    }

    fn end(self) {
        let _ = self.run(&["down"]);
        self.scratch.assert_nothing_left();
    }
}

/// Returns the file of the entry of `name` in the directory of a keeper.
fn entry_file(keeper: &Path, name: &str) -> PathBuf {
    let digest = content_digest(name.as_bytes());
    keeper.join(digest[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Returns the file of the manifest of `name` in the directory of a keeper.
fn manifest_file(keeper: &Path, name: &str) -> PathBuf {
    let entry = entry_file(keeper, name).file_name().expect("it has one").to_owned();
    let begin = format!("{}-", entry.to_str().expect("hexadecimal digits"));
    let files = fs::read_dir(keeper).expect("it is read").flatten().map(|file| file.path());
    let mut found = files.filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&begin) && name.ends_with(".manifest")
    });
    found.next().expect("it has a manifest")
}

/// Returns what a holder gave, and why it was left alone.
fn share<'a>(result: &'a Value, node: &str) -> (u64, Option<&'a str>) {
    let holders = result["holders"].as_array().map(Vec::as_slice).unwrap_or_default();
    let share = holders.iter().find(|share| share["node"] == node);
    share.map_or((0, None), |it| (it["bytes"].as_u64().unwrap_or(0), it["reason"].as_str()))
}

#[test]
fn nodes_get_a_name_from_two_holders_and_one_that_differs_is_named() {
    let scratch = Scratch::new("names");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-5]");
    let content = random_bytes(30_000_000, 1);
    nodes.write(&["local1", "local2"], "data/model", &content);
    nodes.write(&["local5"], "data/model", &content[1..]);
    let said = nodes.run(&["publish", "local[1-2,5]:/data/model", "--as", "llama:v3"]).with_code(1);
    assert!(
        said.out.contains("ok      local[1-2]\nfailed  local5: its content differs"),
        "{}",
        said.out
    );
    assert!(said.out.contains("kept    local[1-3]\n"), "{}", said.out);
    let result = nodes.get("llama:v3", "local[3-4]:/x/").with_code(0).json();
    let given = [share(&result, "local1"), share(&result, "local2")];
    assert!(given.iter().all(|(bytes, reason)| *bytes > 0 && reason.is_none()), "{given:?}");
    // One reading for both nodes.
    assert_eq!(given[0].0 + given[1].0, 30_000_000);
    nodes.assert_has(&["local3", "local4"], "x/model", &content);
    assert_eq!(nodes.names(), ["llama:v3: 28.61 MiB in 1 file, held by local[1-4]"]);
    // Nodes that have it are sent nothing; the head may have read some blocks before they said so.
    let result = nodes.get("llama:v3", "local[3-4]:/x/").with_code(0).json();
    assert_eq!(result["already"], 60_000_000);
    assert!(share(&result, "local1").0 < 15_000_000, "{result}");
    // The length and the time stay as they were.
    let changed = nodes.path("local1", "data/model");
    let modified = fs::metadata(&changed).and_then(|it| it.modified()).expect("it has a time");
    let mut bytes = content.clone();
    bytes.iter_mut().for_each(|byte| *byte ^= 1);
    fs::write(&changed, &bytes).expect("it is written");
    let file = fs::File::options().write(true).open(&changed).expect("it is opened");
    file.set_modified(modified).expect("the time is set");
    fs::remove_dir_all(nodes.path("local3", "x")).expect("it is removed");
    let result = nodes.get("llama:v3", "local5:/y").with_code(0).json();
    let reason = share(&result, "local1").1.unwrap_or_default();
    assert!(reason.starts_with("/data/model differs in block "), "{result}");
    assert!(share(&result, "local3").1.is_some_and(|it| it.contains("no such file")), "{result}");
    nodes.assert_has(&["local5"], "y", &content);
    assert_eq!(nodes.names(), ["llama:v3: 28.61 MiB in 1 file, held by local[2,4-5]"]);
    nodes.end();
}

#[test]
fn a_holder_that_is_killed_meanwhile_leaves_the_rest_to_others() {
    let scratch = Scratch::in_memory("names-killed");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-6]");
    let content = random_bytes(150_000_000, 2);
    nodes.write(&["local5", "local6"], "model", &content);
    let _ = nodes.run(&["publish", "local[5-6]:/model", "--as", "m"]).with_code(0);
    let roots = nodes.roots();
    let getting = garland.start(&["get", "--json", "--local-root", &roots, "m", "local4:/to"]);
    until("the copy begins", || !scratch.partial_files().is_empty());
    // What it does not take stays to be fetched: the head holds less than the half.
    let receiver = garland.agent("local4");
    receiver.stop();
    garland.agent("local5").kill();
    receiver.go_on();
    let result = getting.end().with_code(0).json();
    let killed = share(&result, "local5");
    let other = share(&result, "local6");
    assert!(killed.1.is_some() && other.1.is_none(), "{result}");
    assert!(killed.0 + other.0 == 150_000_000, "{result}");
    nodes.assert_has(&["local4"], "to", &content);
    nodes.end();
}

#[test]
fn names_survive_their_keepers_and_end_for_those_that_were_away() {
    let scratch = Scratch::new("names-keepers");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-4]");
    nodes.write(&["local4"], "one", b"first");
    nodes.write(&["local4"], "two", b"second");
    let publish = |file: &str, name: &str| {
        nodes.run(&["publish", &format!("local4:{file}"), "--as", name]).with_code(0)
    };
    let _ = publish("/one", "a/1");
    garland.agent("local1").kill();
    garland.agent("local2").kill();
    assert!(publish("/two", "a/2").out.contains("kept    local[3-4]"));
    let _ = nodes.run(&["unpublish", "a/1"]).with_code(0);
    nodes.start("local[1-4]");
    let wanted = ["a/2: 6 B in 1 file, held by local4"];
    assert_eq!(nodes.names(), wanted, "the agents that were away know the old name");
    garland.agent("local3").kill();
    garland.agent("local4").kill();
    assert_eq!(nodes.names(), wanted, "the other two were told");
    let said = nodes.get("a/2", "local1:/x").with_code(3);
    assert!(said.out.contains("no holder of a/2 is left: local4: "), "{} {}", said.out, said.err);
    assert!(!nodes.path("local1", "x").exists());
    let said = nodes.get("a/1", "local1:/x").with_code(3);
    assert!(said.err.contains("there is no name a/1"), "{}", said.err);
    nodes.end();
}

#[test]
fn a_name_that_ended_is_served_by_nobody_who_ever_held_what_it_stood_for() {
    let scratch = Scratch::new("names-served");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-5]");
    nodes.write(&["local4"], "m", b"first");
    nodes.write(&["local5"], "m", b"second");
    for node in ["local4", "local5"] {
        let _ = nodes.run(&["publish", &format!("{node}:/m"), "--as", "m"]).with_code(0);
    }
    assert_eq!(nodes.served(), 2);
    let _ = nodes.run(&["unpublish", "m"]).with_code(0);
    assert_eq!(nodes.served(), 0);
    nodes.end();
}

#[test]
fn a_holder_that_is_away_when_a_name_ends_is_named_and_can_be_told_later() {
    let scratch = Scratch::new("names-away");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-4]");
    nodes.write(&["local4"], "m", b"content");
    let _ = nodes.run(&["publish", "local4:/m", "--as", "m"]).with_code(0);
    let _ = nodes.run(&["down", "local4"]).with_code(0);
    let said = nodes.run(&["unpublish", "m"]).with_code(0).err;
    let hint = "names: local4: no agent runs there now; `garland up` tells the next one";
    assert!(said.contains(hint), "{said}");
    assert_eq!(nodes.served(), 1, "nobody could tell it");
    nodes.start("local4");
    assert_eq!(nodes.served(), 0);
    let said = nodes.run(&["unpublish", "m"]).with_code(0).out;
    assert!(said.contains("ended   m, before; all agents were told again"), "{said}");
    nodes.end();
}

#[test]
fn a_node_that_held_what_a_name_stood_for_before_learns_that_it_ended_when_it_is_back() {
    let scratch = Scratch::new("names-replaced");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-5]");
    nodes.write(&["local4"], "m", b"first");
    nodes.write(&["local5"], "m", b"second");
    nodes.write(&["local4"], "kept", b"kept");
    let publish = |from: &str, name: &str| {
        let _ = nodes.run(&["publish", from, "--as", name]).with_code(0);
    };
    publish("local4:/kept", "kept");
    publish("local4:/m", "m");
    let _ = nodes.run(&["down", "local4"]).with_code(0);
    publish("local5:/m", "m");
    let _ = nodes.run(&["unpublish", "m"]).with_code(0);
    assert_eq!(nodes.served(), 2, "that of the node that is away, and what is kept");
    nodes.start("local[1-5]");
    assert_eq!(nodes.served(), 1);
    let _ = nodes.get("kept", "local1:/kept").with_code(0);
    nodes.end();
}

#[test]
fn an_agent_that_is_started_again_learns_that_a_name_it_keeps_has_ended() {
    let scratch = Scratch::new("names-told");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-3]");
    nodes.write(&["local3"], "m", b"content");
    let _ = nodes.run(&["publish", "local3:/m", "--as", "m"]).with_code(0);
    garland.agent("local3").kill();
    let _ = nodes.run(&["unpublish", "m"]).with_code(0);
    nodes.start("local3");
    for node in ["local1", "local2"] {
        garland.agent(node).kill();
    }
    let said = nodes.get("m", "local3:/got").with_code(3);
    assert!(said.err.contains("there is no name m"), "{}", said.err);
    nodes.end();
}

#[test]
fn a_name_that_ends_while_it_is_fetched_is_not_served_by_who_got_it() {
    let scratch = Scratch::in_memory("names-fetched");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-5]");
    let content = random_bytes(40_000_000, 3);
    nodes.write(&["local4"], "m", &content);
    let _ = nodes.run(&["publish", "local4:/m", "--as", "m"]).with_code(0);
    let roots = nodes.roots();
    let words = ["get", "--local-root", &roots, "--bwlimit", "80mbit", "m", "local5:/m"];
    let getting = garland.start(&words);
    until("the copy begins", || !scratch.partial_files().is_empty());
    let _ = nodes.run(&["unpublish", "m"]).with_code(0);
    let said = getting.end().with_code(0).err;
    let told = "local5 does not serve the content to others: m has ended meanwhile";
    assert!(said.contains(told), "{said}");
    nodes.assert_has(&["local5"], "m", &content);
    assert_eq!(nodes.served(), 0);
    nodes.end();
}

#[test]
fn names_are_handed_over_before_their_keepers_end_and_nobody_keeps_old_ones() {
    let scratch = Scratch::new("names-handed-over");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-5]");
    nodes.write(&["local4"], "old", b"old");
    nodes.write(&["local4", "local5"], "new", b"newer");
    let publish = |path: &str, name: &str| nodes.run(&["publish", path, "--as", name]);
    for (path, name) in [("/old", "a"), ("/new", "a"), ("/old", "gone")] {
        let _ = publish(&format!("local4:{path}"), name).with_code(0);
    }
    let _ = nodes.run(&["unpublish", "gone"]).with_code(0);
    let _ = nodes.run(&["down", "local[1-3]"]).with_code(0);
    assert_eq!(nodes.names(), ["a: 5 B in 1 file, held by local4"]);
    // Other modes are other content; a node that differs is no holder any more.
    let _ = publish("local[4-5]:/new", "a").with_code(0);
    let mode = fs::Permissions::from_mode(0o700);
    fs::set_permissions(nodes.path("local4", "new"), mode).expect("it is set");
    nodes.write(&["local5"], "new", b"other");
    let _ = publish("local[4-5]:/new", "a").with_code(1);
    assert_eq!(nodes.names(), ["a: 5 B in 1 file, held by local4"]);
    let _ = nodes.get("a", "local5:/x").with_code(0);
    let mode =
        fs::metadata(nodes.path("local5", "x")).expect("the file exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    nodes.end();
}

#[test]
fn a_stranger_and_a_keeper_that_lies_give_nothing() {
    let scratch = Scratch::new("names-stranger");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-3]");
    nodes.write(&["local1"], "secret", b"content");
    let _ = nodes.run(&["publish", "local1:/secret", "--as", "s"]).with_code(0);
    // A stranger knows all but the key.
    let lists = nodes.lists();
    let own = scratch.path("stranger");
    let host = lists.parent().expect("the state of the host");
    let copied = own.join(host.file_name().expect("it has a name"));
    copy_private(&host.join("standing"), &copied.join("standing"));
    let roots = nodes.roots();
    for words in [&["names"][..], &["get", "--local-root", &roots, "s", "local2:/x"]] {
        let mut command = garland.command(words);
        let output = command.env("GARLAND_STATE", &own).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("no standing agent answers"), "{said}");
    }
    assert!(!nodes.path("local2", "x").exists());
    // Records that a keeper has changed do not count, and it gets sound ones.
    let entries = |end: &str| {
        let folders = fs::read_dir(&lists).expect("they are there").flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten());
        let paths = files.flatten().map(|file| file.path());
        let is_wanted =
            |path: &PathBuf| path.extension().unwrap_or_default().to_string_lossy() == end;
        paths.filter(is_wanted).collect::<Vec<_>>()
    };
    let change = |path: &Path| {
        let mut bytes = fs::read(path).expect("it is read");
        bytes[20] ^= 1;
        fs::write(path, bytes).expect("it is written");
    };
    assert_eq!((entries("").len(), entries("manifest").len()), (3, 3));
    entries("")[..2].iter().for_each(|path| change(path));
    entries("manifest")[..1].iter().for_each(|path| change(path));
    let _ = nodes.get("s", "local2:/x").with_code(0);
    nodes.assert_has(&["local2"], "x", b"content");
    entries("").iter().for_each(|path| change(path));
    assert!(nodes.get("s", "local2:/y").with_code(3).err.contains("there is no name s"));
    nodes.end();
}

/// Copies the files of a directory into a new private one.
fn copy_private(from: &Path, to: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(to).expect("it is made");
    for file in fs::read_dir(from).expect("it is read").flatten() {
        fs::copy(file.path(), to.join(file.file_name())).expect("it is copied");
    }
}

#[test]
fn a_directory_is_one_name_and_what_cannot_be_one_is_refused() {
    let scratch = Scratch::new("names-tree");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-3]");
    let shards: Vec<Vec<u8>> = (0..6).map(|shard| random_bytes(700_000, shard)).collect();
    for (number, shard) in shards.iter().enumerate() {
        nodes.write(&["local1"], &format!("m/layer{}/shard{number}", number % 2), shard);
    }
    nodes.write(&["local1"], "m/empty", b"");
    let _ = nodes.run(&["publish", "local1:/m", "--as", "m"]).with_code(0);
    let result = nodes.get("m", "local[2-3]:/to").with_code(0).json();
    assert_eq!(share(&result, "local1"), (4_200_000, None));
    let has_all = |nodes: &Nodes<'_>, at: &str| {
        for (number, shard) in shards.iter().enumerate() {
            let path = format!("{at}/layer{}/shard{number}", number % 2);
            nodes.assert_has(&["local2", "local3"], &path, shard);
        }
        nodes.assert_has(&["local2", "local3"], &format!("{at}/empty"), b"");
    };
    has_all(&nodes, "to/m");
    let again = nodes.get("m", "local[2-3]:/to").with_code(0).json();
    assert_eq!(again["holders"], Value::Null, "{again}");
    // The first holder is gone; those that got it are enough.
    let _ = nodes.run(&["down", "local1"]).with_code(0);
    let _ = nodes.get("m", "local[2-3]:/second").with_code(0);
    has_all(&nodes, "second/m");
    fs::create_dir_all(nodes.path("local2", "hollow/inner")).expect("it is made");
    std::os::unix::fs::symlink("empty", nodes.path("local2", "to/m/link")).expect("it is made");
    for (path, reason) in [
        ("local2:/to/m", "link is a symbolic link, which names cannot have"),
        ("local2:/hollow", "/hollow has no files in it to publish"),
        ("local2:/none", "cannot open /none: no such file or directory"),
        ("https://h:1/", "ends in no file name"),
        ("-", "a stream cannot be published"),
    ] {
        let said = nodes.run(&["publish", path, "--as", "x"]);
        assert!(said.code >= 2 && said.err.contains(reason), "{path}: {}", said.err);
    }
    assert!(
        nodes.run(&["publish", "/", "--as", "a b"]).with_code(2).err.contains("name of content")
    );
    let above = nodes.run(&["publish", "local2:/to/m/empty", "--as", "../m"]).with_code(2);
    assert!(above.err.contains("a part between slashes is empty, . or .."), "{}", above.err);
    // Other content is said to take the place of the first one, and the same content again is not.
    let publish = |words: &[&str]| {
        nodes.run(&[&["publish", "local2:/to/m/empty", "--as", "m"], words].concat()).with_code(0)
    };
    let said = publish(&[]).out;
    assert!(said.contains("in place of 4.01 MiB in 7 files, root "), "{said}");
    assert_eq!(publish(&["--json"]).json()["replaced"], Value::Null);
    nodes.write(&["local2"], "to/m/empty", b"no more");
    let replaced = &publish(&["--json"]).json()["replaced"];
    assert_eq!((&replaced["bytes"], &replaced["files"]), (&Value::from(0), &Value::from(1)));
    assert!(nodes.get("m", "local2:|cat").with_code(2).err.contains("no pipes and devices"));
    nodes.end();
}

#[test]
fn an_interrupted_get_is_resumed_as_a_copy_is() {
    let scratch = Scratch::in_memory("names-resumed");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-2]");
    let content = random_bytes(40_000_000, 3);
    nodes.write(&["local1"], "model", &content);
    let _ = nodes.run(&["publish", "local1:/model", "--as", "m"]).with_code(0);
    // With this limit it would take 40 s.
    let words = ["get", "--bwlimit", "1MB/s", "--local-root", &nodes.roots(), "m", "local2:/to"];
    let getting = garland.start(&words);
    until("the copy begins", || !scratch.partial_files().is_empty());
    getting.process().interrupt();
    assert_eq!(getting.end().code, 130);
    assert!(!nodes.path("local2", "to").exists());
    // What is resumed has the limit of its own command: less is to be sent then.
    nodes.write(&["local2"], "to", &content[..39_500_000]);
    let said = nodes.run(&["cp", "--resume", "last", "-q"]).with_code(0);
    assert_eq!(said.out, "");
    nodes.assert_has(&["local2"], "to", &content);
    nodes.end();
}

/// Writes `count` names beside one that was published, as the agents that keep names would.
fn fill(nodes: &Nodes<'_>, count: u64) {
    let key = nodes.signer();
    for folder in nodes.keepers() {
        let files = fs::read_dir(&folder).expect("it is read").flatten();
        let paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
        let of = |end: &str| {
            let path = paths.iter().find(|it| it.extension().unwrap_or_default() == end);
            fs::read(path.expect("one was published")).expect("it is read")
        };
        let published = NameEntry::parse(&of("")).expect("an entry");
        let manifest = of("manifest");
        let manifest_end = manifest_file(&folder, published.record.name());
        let manifest_end = manifest_end.file_name().and_then(|name| name.to_str());
        let (_, manifest_end) = manifest_end.expect("text").split_once('-').expect("a digest");
        let manifest_end = format!("-{manifest_end}");
        for number in 0..count {
            let name = format!("models/{number:05}");
            let content = published.record.content();
            let at = published.record.number();
            let record = NameRecord::new(&name, at, content, &key);
            let entry = NameEntry { record, holders: published.holders.clone() };
            let path = entry_file(&folder, &name);
            fs::write(&path, entry.to_bytes()).expect("it is written");
            let mut path = path.into_os_string();
            path.push(&manifest_end);
            fs::write(path, &manifest).expect("it is written");
        }
    }
}

#[test]
fn ten_thousand_names_cost_their_keepers_no_memory() {
    let scratch = Scratch::in_memory("names-many");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-3]");
    nodes.write(&["local1"], "model", b"content");
    let _ = nodes.run(&["publish", "local1:/model", "--as", "m"]).with_code(0);
    let memory = || {
        let agent = garland.agent("local1");
        agent.peak_memory().saturating_sub(agent.memory_of_files())
    };
    let before = memory();
    fill(&nodes, 9_998);
    assert_eq!(nodes.names().len(), 9_999);
    let _ = nodes.run(&["publish", "local1:/model", "--as", "last"]).with_code(0);
    let full = nodes.run(&["publish", "local1:/model", "--as", "one-more"]);
    assert!(full.err.contains("it keeps 10000 names already"), "{}", full.err);
    let _ = nodes.get("models/09997", "local2:/to").with_code(0);
    nodes.assert_has(&["local2"], "to", b"content");
    assert!(memory() < before + (16 << 20), "{before} {}", memory());
    nodes.end();
}

#[test]
fn a_name_that_ended_by_a_later_clock_is_published_above_that() {
    let scratch = Scratch::new("names-later");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-3]");
    nodes.write(&["local1"], "model", b"content");
    let publish = || nodes.run(&["publish", "local1:/model", "--as", "m"]);
    let _ = publish().with_code(0);
    let _ = nodes.run(&["unpublish", "m"]).with_code(0);
    // The machine that ended it was an hour ahead; its record is in all lists, or in one.
    let later = clock::wall_ns() + 3_600_000_000_000;
    for (kept_by, later) in [(3, later), (1, later + 3_600_000_000_000)] {
        let record = NameRecord::new("m", later, None, &nodes.signer());
        let entry = NameEntry { record, holders: Vec::new() };
        for keeper in &nodes.keepers()[..kept_by] {
            fs::write(entry_file(keeper, "m"), entry.to_bytes()).expect("it is written");
        }
        assert_eq!(nodes.names(), ["no names; to make one: garland publish PATH --as NAME"]);
        let _ = publish().with_code(0);
        assert_eq!(nodes.names(), ["m: 7 B in 1 file, held by local1"]);
    }
    let _ = nodes.run(&["unpublish", "m"]).with_code(0);
    assert_eq!(nodes.names(), ["no names; to make one: garland publish PATH --as NAME"]);
    nodes.end();
}

#[test]
fn a_damaged_manifest_is_named_and_the_other_names_work() {
    let scratch = Scratch::new("names-damaged");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-3]");
    nodes.write(&["local1"], "model", b"content");
    let publish = |name: &str| nodes.run(&["publish", "local1:/model", "--as", name]);
    for name in ["cured", "ended", "sound"] {
        let _ = publish(name).with_code(0);
    }
    // One keeper lost its disk, and the others have other bytes.
    for (at, keeper) in nodes.keepers().iter().enumerate() {
        for name in ["cured", "ended"] {
            if at == 0 {
                fs::remove_file(entry_file(keeper, name)).expect("it was kept");
            }
            fs::write(manifest_file(keeper, name), "other").expect("it is written");
        }
    }
    let said = nodes.run(&["names"]).with_code(0);
    assert_eq!(said.out.lines().count(), 3, "{}", said.out);
    for name in ["cured", "ended"] {
        let warning = format!("names: no agent has the manifest of {name} unchanged");
        assert!(said.err.contains(&warning), "{}", said.err);
    }
    let _ = publish("new").with_code(0);
    let _ = nodes.get("sound", "local2:/x").with_code(0);
    let said = nodes.get("cured", "local2:/y").with_code(3);
    assert!(said.err.contains("publish the content again"), "{}", said.err);
    let _ = publish("cured").with_code(0);
    let _ = nodes.get("cured", "local2:/y").with_code(0);
    let _ = nodes.run(&["unpublish", "ended"]).with_code(0);
    let said = nodes.run(&["names"]).with_code(0);
    assert_eq!((said.out.lines().count(), said.err.as_str()), (3, ""), "{}", said.out);
    nodes.end();
}

#[test]
fn a_name_has_no_set_user_id_programs_and_the_base_that_the_user_wrote() {
    let scratch = Scratch::new("names-modes");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-2]");
    nodes.write(&["local1"], "v3", b"content");
    let mode = fs::Permissions::from_mode(0o6755);
    fs::set_permissions(nodes.path("local1", "v3"), mode).expect("it is set");
    std::os::unix::fs::symlink("v3", nodes.path("local1", "current")).expect("it is made");
    let _ = nodes.run(&["publish", "local1:/current", "--as", "m"]).with_code(0);
    let _ = nodes.get("m", "local2:/x/").with_code(0);
    let mode = fs::metadata(nodes.path("local2", "x/current")).expect("it came").permissions();
    assert_eq!(mode.mode() & 0o7777, 0o755);
    let said = nodes.run(&["publish", "local1:/x/..", "--as", "m"]).with_code(2);
    assert!(said.err.contains("has no name at its end"), "{}", said.err);
    nodes.end();
}

#[test]
fn a_get_copies_and_says_all_whatever_its_holders_on_this_machine_are() {
    let scratch = Scratch::new("names-pipe");
    let garland = garland_in(&scratch);
    let mut getting = Vec::new();
    let nodes = Nodes::up(&garland, &scratch, "local[1-2]");
    let content = random_bytes(300_000, 4);
    nodes.write(&["local1"], "model", &content);
    let disk = HangingDisk::mount(&scratch.path("disk"), HangsIn::Read(300_000));
    for folder in ["disk", "here"] {
        let path = scratch.path(folder).join("model");
        match folder {
            "disk" => disk.put("model", content.clone()),
            _ => {
                fs::create_dir_all(scratch.path(folder)).expect("it is made");
                fs::write(&path, &content).expect("it is written");
            }
        }
        // What is on this machine is read first.
        for from in [path.to_str().expect("a path of text"), "local1:/model"] {
            let _ = nodes.run(&["publish", from, "--as", folder]).with_code(0);
        }
    }
    let pipe = scratch.path("here").join("model");
    fs::remove_file(&pipe).expect("it is removed");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    let _ = nodes.get("here", "local2:/x").with_code(0);
    nodes.assert_has(&["local2"], "x", &content);
    let roots = nodes.roots();
    let get = |to| garland.start(&["get", "--json", "--local-root", &roots, "disk", to]);
    getting.push(get("local2:/y"));
    let said = getting[0].await_out("its result", |out| out.ends_with("}\n"));
    let result: Value = serde_json::from_str(&said).expect("a result is JSON");
    assert_eq!(share(&result, "local1").0, 300_000, "{result}");
    nodes.assert_has(&["local2"], "y", &content);
    // Nothing else has it now.
    fs::remove_file(nodes.path("local1", "model")).expect("it is removed");
    fs::remove_file(nodes.path("local2", "y")).expect("it is removed");
    getting.push(get("local2:/z"));
    let said = getting[1].await_out("its result", |out| out.ends_with("}\n"));
    assert!(said.contains("nothing came from it within 40 s"), "{said}");
    // The kernel keeps who reads from the disk: that is not the command.
    let codes: Vec<i32> = getting.into_iter().map(|getting| getting.end().code).collect();
    assert_eq!(codes, [0, 3]);
    disk.release();
    drop(disk);
    nodes.end();
}

#[test]
fn a_keeper_chooses_no_address_and_no_path_that_the_head_reads() {
    let scratch = Scratch::new("names-sources");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-3]");
    let content = random_bytes(300_000, 5);
    nodes.write(&["local1"], "model", &content);
    let _ = nodes.run(&["publish", "local1:/model", "--as", "m"]).with_code(0);
    fs::remove_file(nodes.path("local1", "model")).expect("it is removed");
    let site = Site::start(content.clone(), Manner::Well);
    let here = scratch.path("private");
    fs::write(&here, &content).expect("it is written");
    let here = here.to_str().expect("a path of text").trim_start_matches('/');
    let source = |node: String, kind, path: &str| NameHolder { node, kind, path: path.into() };
    let keeper = &nodes.keepers()[0];
    let entry = fs::read(entry_file(keeper, "m")).expect("it is kept");
    let mut entry = NameEntry::parse(&entry).expect("an entry");
    entry.holders.push(source(format!("{}/internal/restart", site.url()), HolderKind::Origin, ""));
    entry.holders.push(source(garland_sys::process::host_name(), HolderKind::Head, here));
    fs::write(entry_file(keeper, "m"), entry.to_bytes()).expect("it is written");
    let _ = nodes.get("m", "local2:/x").with_code(3);
    assert_eq!(site.log(), [], "the head asked for what a keeper chose");
    assert!(!nodes.path("local2", "x").exists(), "the head read a path that a keeper chose");
    // What the controller names is signed, and stays beside a node that has the content.
    let url = format!("{}/model", site.url());
    let _ = nodes.run(&["publish", &url, "--as", "m"]).with_code(0);
    let _ = nodes.get("m", "local2:/x").with_code(0);
    assert!(!site.log().is_empty());
    assert!(nodes.names()[0].contains(&format!("held by local2, {url}")), "{:?}", nodes.names());
    nodes.end();
}

/// A command that waits for one keeper for 30 s takes less time than this, in nanoseconds.
const ONCE_NS: u64 = 60_000_000_000;

#[test]
fn a_keeper_that_does_not_answer_is_waited_for_once_and_named_once() {
    let scratch = Scratch::new("names-silent");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-3]");
    nodes.write(&["local1"], "model", b"content");
    let names = ["a", "b", "c", "d"];
    for name in names {
        let _ = nodes.run(&["publish", "local1:/model", "--as", name]).with_code(0);
    }
    // It lacks all names, and what it is given is never kept: its agent says that it lives, and no
    // more.
    let keeper = nodes.keepers().remove(0);
    for name in names {
        fs::remove_file(entry_file(&keeper, name)).expect("it was kept");
    }
    let folder = fs::File::open(&keeper).expect("the directory exists");
    let _ = garland_sys::lock::lock(&folder).expect("it is locked");
    let began_ns = clock::now_ns();
    let said = nodes.run(&["names"]).with_code(0);
    assert_eq!(said.out.lines().count(), names.len(), "{}", said.out);
    assert_eq!(said.err.matches("is asked nothing more").count(), 1, "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(clock::now_ns() - began_ns < ONCE_NS, "{}", said.err);
    // An agent that ends hands all names over, for which that one is waited for once, too.
    let keepers = ["local1", "local2", "local3"];
    let silent = keepers.into_iter().find(|node| said.err.contains(node)).expect("it is named");
    let leaving = if silent == "local3" { "local2" } else { "local3" };
    let began_ns = clock::now_ns();
    let said = nodes.run(&["down", leaving]).with_code(0);
    assert_eq!(said.err.matches("is asked nothing more").count(), 1, "{}", said.err);
    assert!(clock::now_ns() - began_ns < ONCE_NS, "{}", said.err);
    drop(folder);
    nodes.end();
}

#[test]
fn what_fewer_than_two_of_three_agents_keep_is_no_success() {
    let scratch = Scratch::new("names-majority");
    let garland = garland_in(&scratch);
    let nodes = Nodes::up(&garland, &scratch, "local[1-3]");
    nodes.write(&["local1"], "model", b"content");
    let publish = |name: &str| nodes.run(&["publish", "local1:/model", "--as", name]);
    let _ = publish("before").with_code(0);
    for node in ["local2", "local3"] {
        garland.agent(node).kill();
    }
    let said = publish("m").with_code(3);
    for why in [
        "error: cannot have 2 agents keep m: local1 does; local2: cannot connect",
        "; local3: cannot connect",
    ] {
        assert!(said.err.contains(why), "{}", said.err);
    }
    let hint = "hint: start their agents with `garland up local[2-3]`, and publish it again";
    assert!(said.err.contains(hint), "{}", said.err);
    let said = nodes.run(&["unpublish", "before"]).with_code(3);
    assert!(said.err.contains("cannot have 2 agents keep before: local1 does"), "{}", said.err);
    nodes.start("local[2-3]");
    let _ = publish("m").with_code(0);
    assert_eq!(nodes.names(), ["m: 7 B in 1 file, held by local1"], "what was ended is so by all");
    // One of two is no majority either.
    let _ = nodes.run(&["down", "local3"]).with_code(0);
    garland.agent("local2").kill();
    let _ = publish("n").with_code(3);
    let _ = nodes.run(&["down", "local2"]);
    assert!(publish("n").with_code(0).out.contains("kept    local1\n"));
    nodes.end();
}
