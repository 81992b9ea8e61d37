//! A store that speaks S3, and isn't ours.

use std::path::PathBuf;

use garland_lab::{Lab, StateDir};
use garland_sys::process;
use garland_testkit::{Running, Scratch, random_file, until};

use crate::remote::server::Server;
use crate::remote::{assert_at_all, assert_hidden, assert_nowhere, file, garland_in, start};

const LENGTH: u64 = (33 << 20) + 7;

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "KEY"), ("AWS_SECRET_ACCESS_KEY", "SECRET")];

/// A bucket `models` with one object, and its server.
fn bucket(scratch: &Scratch, length: u64, more: &[&str]) -> (PathBuf, Server) {
    let path = file(scratch, "store/models/a/b c.bin", length);
    (path, Server::s3(scratch, &scratch.path("store"), more))
}

#[test]
fn an_object_gets_to_all_nodes_and_is_read_once() {
    let scratch = Scratch::new("s3");
    let (path, server) = bucket(&scratch, LENGTH, &[]);
    let variables = [KEYS.as_slice(), &[("AWS_ENDPOINT_URL", &server.url)]].concat();
    let copy = start(&scratch, "s3://models/a/b c.bin", "local[1-8]:/data/", &[], &variables);
    let _ = copy.end().with_code(0);
    assert_at_all(&scratch, 8, "data/b c.bin", &std::fs::read(path).expect("the file exists"));
    assert_read_once(&server.said(), LENGTH);
    drop(server);
    scratch.assert_nothing_left();
}

/// Its log tells where each reading began: each of the parts once, and from the beginning once for
/// the tag as well.
#[track_caller]
fn assert_read_once(said: &str, length: u64) {
    for part in 1..length.div_ceil(8 << 20) {
        let read = said.matches(&format!("openRange at {} ", part * (8 << 20))).count();
        assert_eq!(read, 1, "part {part}:\n{said}");
    }
}

/// A gigabyte in a soak, to eight nodes.
#[test]
fn an_object_reaches_a_lab_by_one_reading_of_it() {
    let length = if std::env::var_os("GARLAND_SOAK").is_some() { 1 << 30 } else { 40 << 20 };
    let scratch = Scratch::new("s3-lab");
    let path = file(&scratch, "store/models/m.bin", length);
    let garland = garland_in(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "8"]).with_code(0);
    // Beside the lab's head, on its loopback.
    let state = scratch.state().join(process::host_name()).join("lab");
    let lab = Lab::open(&StateDir(state), "lab").expect("it has been started");
    let server = Server::s3_on(&lab, "n0", &scratch, &scratch.path("store"));
    let mut copy = garland.command(&["cp", "s3://models/m.bin", "lab:n[1-8]:/data/"]);
    copy.envs(KEYS).env("AWS_ENDPOINT_URL", &server.url).env("NO_PROXY", "*");
    let _ = Running::start(copy).end().with_code(0);
    let wanted = std::fs::read(path).expect("the file exists");
    for node in 1..=8 {
        let root = lab.root(&format!("n{node}")).expect("it is a node of the lab");
        let got = std::fs::read(root.join("data/m.bin")).expect("the file exists");
        assert!(got == wanted, "n{node} has something else");
    }
    assert_read_once(&server.said(), length);
    drop(server);
    let _ = garland.run(&["lab", "down"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn a_profile_has_keys_and_where_the_store_is() {
    let scratch = Scratch::new("profile");
    let (path, server) = bucket(&scratch, LENGTH, &[]);
    std::fs::create_dir_all(scratch.path(".aws")).expect("there is room");
    let keys = "[lab]\naws_access_key_id=KEY\naws_secret_access_key=SECRET\n";
    std::fs::write(scratch.path(".aws/credentials"), keys).expect("there is room");
    let config = format!("[profile lab]\nregion = eu-west-1\nendpoint_url = {}\n", server.url);
    std::fs::write(scratch.path(".aws/config"), config).expect("there is room");
    let copy = |profile| {
        let variables = [("AWS_PROFILE", profile)];
        start(&scratch, "s3://models/a/b c.bin", "local1:/x", &["-p"], &variables).end()
    };
    let _ = copy("lab").with_code(0);
    assert_at_all(&scratch, 1, "x", &std::fs::read(&path).expect("the file exists"));
    let seconds = |path: &std::path::Path| {
        let time = path.metadata().and_then(|stat| stat.modified()).expect("it has a time");
        time.duration_since(std::time::UNIX_EPOCH).expect("it is later").as_secs()
    };
    assert_eq!(seconds(&scratch.root("local1").join("x")), seconds(&path));
    let said = copy("other").with_code(3);
    assert!(said.err.contains("the profile other (AWS_PROFILE) is missing"), "{}", said.err);
    drop(server);
    scratch.assert_nothing_left();
}

#[test]
fn refusals_say_why_and_what_to_do() {
    let scratch = Scratch::new("s3-refusals");
    let (_, server) = bucket(&scratch, LENGTH, &[]);
    let endpoint = ("AWS_ENDPOINT_URL", server.url.as_str());
    let wrong = ("AWS_SECRET_ACCESS_KEY", "WRONG");
    let no_metadata = ("AWS_EC2_METADATA_DISABLED", "true");
    for (source, variables, words) in [
        ("s3://models/a/b c.bin", vec![endpoint, KEYS[0], wrong], "SignatureDoesNotMatch"),
        ("s3://models/a/b c.bin", vec![endpoint, no_metadata], "no credentials"),
        ("s3://models/none", vec![endpoint, KEYS[0], KEYS[1]], "NoSuchKey"),
        ("s3://none/x", vec![endpoint, KEYS[0], KEYS[1]], "NoSuchBucket"),
    ] {
        let said = start(&scratch, source, "local1:/x", &[], &variables).end().with_code(3);
        assert!(said.err.contains(words), "{source}: {}", said.err);
        assert!(said.err.contains(source), "{}", said.err);
        let hinted = !words.contains("NoSuchKey");
        assert_eq!(said.err.contains("hint: "), hinted, "{}", said.err);
    }
    assert_nowhere(&scratch, 1);
    drop(server);
    scratch.assert_nothing_left();
}

#[test]
fn an_object_that_is_replaced_in_the_middle_appears_nowhere() {
    let scratch = Scratch::new("s3-changed");
    // More parts than are asked for at once.
    let length = 90 << 20;
    let (path, server) = bucket(&scratch, length, &["--bwlimit", "12M"]);
    let variables = [KEYS.as_slice(), &[("AWS_ENDPOINT_URL", &server.url)]].concat();
    let source = "s3://models/a/b c.bin";
    random_file(&scratch.path("other"), length, 3);
    let copy = start(&scratch, source, "local[1-2]:/x", &["--block-size", "64KiB"], &variables);
    // The first question, and then eight at once, seven of which go on from their own beginnings.
    // rclone gives new bytes the tag of the old ones if the file is replaced while it opens it.
    until("eight parts to be open", || server.said().matches("openRange at ").count() >= 16);
    // Not in place: what was begun would go on with other bytes. A busy disk may take longer for it
    // than the copy until its next question, since the file is written first.
    server.while_stopped(|| {
        std::fs::rename(scratch.path("other"), &path).expect("the file exists");
    });
    let said = copy.end().with_code(3);
    assert!(said.out.contains("b c.bin changed while it was copied"), "{}", said.out);
    assert_hidden(&scratch, 2);
    // The next copy takes what fits and removes the rest.
    drop(server);
    let server = Server::s3(&scratch, &scratch.path("store"), &[]);
    let variables = [KEYS.as_slice(), &[("AWS_ENDPOINT_URL", &server.url)]].concat();
    let again = start(&scratch, source, "local[1-2]:/x", &["--block-size", "64KiB"], &variables);
    let _ = again.end().with_code(0);
    assert_at_all(&scratch, 2, "x", &std::fs::read(&path).expect("the file exists"));
    drop(server);
    scratch.assert_nothing_left();
}
