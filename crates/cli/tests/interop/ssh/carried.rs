//! The program for nodes, which the head's program carries.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

use garland_testkit::{Sshd, said};

use crate::ssh::{
    GARLAND, NODE, assert_nothing_left, assert_whole, cached, digest, field_of, garland_at,
    noted_ways, read, run, wait_for,
};

/// The head's program with the one for nodes in it.
const CARRIER: &str = "/mnt/head/garland";

/// Machines on whose head is also the program that carries the one for nodes.
fn carrier(nodes: u8) -> Sshd {
    let field = field_of(nodes);
    let path = field.machines.seen(0, CARRIER);
    let carry = Command::new(GARLAND).arg("carry").args([Path::new(NODE), &path]).output();
    let carry = carry.expect("garland starts");
    assert!(carry.status.success(), "{}", said(&carry));
    field
}

fn carried(field: &Sshd, arguments: &[&str]) -> Output {
    garland_at(CARRIER, field, arguments).output().expect("garland starts")
}

#[test]
fn nodes_get_the_smaller_program_and_pass_it_on() {
    let field = carrier(3);
    // n1 has the head's whole program, as releases before this one sent it.
    let whole = run(&field, &["exec", "n1", "--", "true"]);
    assert!(whole.status.success(), "{}", said(&whole));
    let old = cached(&field, 1).pop().expect("n1 has it");
    let up = carried(&field, &["up", "n1"]);
    assert!(up.status.success(), "{}", said(&up));
    let output = carried(&field, &["cp", "/mnt/head/source", "n[1-3]:/mnt/home/copy"]);
    assert!(output.status.success(), "{}", said(&output));
    let mut ways = noted_ways(&field, "cp");
    ways.sort();
    assert_eq!(ways, ["n2: from n1", "n3: from n1"]);
    for node in 1..=3 {
        assert_whole(&field, node, "/mnt/home/copy");
        let mut kept = cached(&field, node);
        kept.retain(|path| *path != old);
        kept.sort();
        let [program, compressed] = &kept[..] else { panic!("{kept:?}") };
        assert!(program.ends_with(digest(program)), "it is known by its digest: {program:?}");
        assert_eq!(compressed.extension().and_then(|end| end.to_str()), Some("gz"));
        let [short, middle, long] =
            [compressed, program, &old].map(|path| fs::metadata(path).expect("there").len());
        assert!(short < middle && middle < long, "{short} {middle} {long}");
    }
    let down = carried(&field, &["down", "n1"]);
    assert!(down.status.success(), "{}", said(&down));
    assert_nothing_left(&field);
}

#[test]
fn jobs_run_under_the_smaller_program() {
    let field = carrier(1);
    // Not in the home directory, which nodes do not get.
    fs::create_dir(field.machines.seen(0, "/mnt/head/in")).expect("there is room");
    fs::write(field.machines.seen(0, "/mnt/head/in/word"), "a word").expect("there is room");
    // A guard watches each job, and the head's files are mounted: both are processes of the same
    // program.
    let job = "(cat {in}; echo \" on $(hostname)\") >{out}";
    let words =
        ["farm", "run", "n1", "--data", "mount", "--", "sh", "-c", job, ":::", "/mnt/head/in/word"];
    let output = carried(&field, &words);
    let made = read(&field, 0, "/mnt/head/in/word.out").unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(&made), "a word on n1\n", "{}", said(&output));
    assert!(output.status.success(), "{}", said(&output));
    assert_nothing_left(&field);
}

#[test]
fn a_damaged_program_is_not_sent() {
    let field = carrier(1);
    let path = field.machines.seen(0, CARRIER);
    let length = fs::metadata(&path).expect("it was written").len();
    let file = fs::File::options().read(true).write(true).open(&path).expect("it is ours");
    let mut byte = [0];
    file.read_exact_at(&mut byte, length - 5000).expect("it is longer");
    file.write_all_at(&[!byte[0]], length - 5000).expect("it is ours");
    drop(file);
    let output = carried(&field, &["cp", "/mnt/head/source", "n1:/mnt/home/copy"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("failed  n1: cannot send the program: its file is damaged"), "{text}");
    assert!(text.contains("install garland again"), "{text}");
    // The node removes what it began when it notices that its login has ended.
    wait_for(|| cached(&field, 1).is_empty());
    assert_eq!(read(&field, 1, "/mnt/home/copy"), None);
    assert_nothing_left(&field);
}
