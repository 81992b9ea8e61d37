//! The output of `garland exec`: when it is printed, in which order, and in how much memory it
//! waits.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::process::Stdio;

use garland_testkit::{Process, Scratch, until};

use super::garland_in;

/// The most resident memory of a head that keeps 100 MiB of output, in bytes. Most is that of the
/// program of a debug build.
const HEAD_MEMORY: u64 = 64 << 20;

/// A line for the shell: waits until the file `name` is in the scratch directory.
fn wait_for(scratch: &Scratch, name: &str) -> String {
    format!("until test -e {}; do sleep 0.02; done", scratch.path(name).display())
}

/// A line for the shell that does `on_one`, `on_two` or `on_three`, depending on the local node.
fn on_each(on_one: &str, on_two: &str, on_three: &str) -> String {
    format!("case $PWD in */local1) {on_one};; */local2) {on_two};; *) {on_three};; esac")
}

#[test]
fn lines_come_before_the_command_ends() {
    let scratch = Scratch::new("exec-lines");
    for option in [&[][..], &["--line-buffer"]] {
        let line = format!("echo first; {}; printf last; echo bad >&2", wait_for(&scratch, "go"));
        let exec =
            garland_in(&scratch).start(&[&["exec"], option, &["-s", "local[1-2]", &line]].concat());
        exec.await_out("a line of each", |out| out.lines().count() == 2);
        File::create(scratch.path("go")).expect("room for a file");
        let said = exec.end().with_code(0);
        let mut lines: Vec<&str> = said.out.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["local1: first", "local1: last", "local2: first", "local2: last"]);
        assert!(
            said.err.contains("local1: bad\n") && said.err.contains("local2: bad\n"),
            "{}",
            said.err
        );
        fs::remove_file(scratch.path("go")).expect("the file exists");
    }
    scratch.assert_nothing_left();
}

#[test]
fn the_bytes_of_one_node_that_is_named_by_itself_are_passed_on_as_they_are() {
    let scratch = Scratch::new("exec-bytes");
    // Without a newline, and more than is kept of a line.
    let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).filter(|&b| b != 10).collect();
    fs::write(scratch.path("binary"), &bytes).expect("it has room");
    let line = format!("cat {}; echo bad >&2", scratch.path("binary").display());
    let raw = |words: &[&str]| {
        let garland = garland_in(&scratch);
        let mut command = garland.command(&[&["exec", "-s"], words, &[&line]].concat());
        let ended = command.stdin(Stdio::null()).output().expect("it starts");
        assert!(ended.status.success());
        ended
    };
    let alone = raw(&["local1"]);
    assert!(alone.stdout == bytes && alone.stderr == b"bad\n");
    // Scripts that read names give lists, which may have one node.
    for words in [&["local[1-1]"][..], &["--line-buffer", "local1"]] {
        let ended = raw(words);
        assert!(ended.stdout.starts_with(b"local1: ") && ended.stderr == b"local1: bad\n");
    }
    // What is not a line comes at once.
    let line = format!("printf begun; {}", wait_for(&scratch, "go"));
    let exec = garland_in(&scratch).start(&["exec", "-s", "local1", &line]);
    exec.await_out("what has no end of line", |out| out == "begun");
    File::create(scratch.path("go")).expect("room for a file");
    let _ = exec.end().with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn groups_are_in_the_order_of_nodes_and_the_first_one_needs_not_wait() {
    let scratch = Scratch::new("exec-group");
    let done = scratch.path("done").display().to_string();
    let line = on_each(
        &format!("echo one; {}; echo two", wait_for(&scratch, "go")),
        &format!("seq 200000; seq 3 >&2; touch {done}"),
        "echo three; exit 3",
    );
    let exec = garland_in(&scratch).start(&["exec", "--group", "-s", "local[1-3]", &line]);
    let first = exec.await_out("the first line", |out| !out.is_empty());
    assert_eq!(first, "local1: one\n");
    until("the end of local2", || scratch.path("done").exists());
    File::create(scratch.path("go")).expect("room for a file");
    let said = exec.end().with_code(1);
    let wanted: String = (1..=200_000).map(|number| format!("local2: {number}\n")).collect();
    let wanted = format!("local1: one\nlocal1: two\n{wanted}local3: three\n");
    assert!(said.out == wanted, "{} bytes, not {}", said.out.len(), wanted.len());
    let failed = "failed  local3: exit code 3";
    assert_eq!(said.err.trim_end(), format!("local2: 1\nlocal2: 2\nlocal2: 3\n{failed}"));
    scratch.assert_nothing_left();
}

#[test]
fn output_that_waits_needs_no_memory() {
    let scratch = Scratch::new("exec-memory");
    let done = scratch.path("done").display().to_string();
    let line = on_each(
        &wait_for(&scratch, "done"),
        &format!("yes $(printf %0999d 0) | head -n 110000; echo whole; touch {done}"),
        &format!("{}; echo three", wait_for(&scratch, "go")),
    );
    let path = scratch.path("out");
    let mut command = garland_in(&scratch).command(&["exec", "--group", "-s", "local[1-3]", &line]);
    command.stdout(File::create(&path).expect("room for a file"));
    let mut head = command.spawn().expect("it is a program");
    // All of it was kept until local1 had ended, and is printed while the command on local3 runs.
    until("the output of local2", || {
        let mut end = String::new();
        let mut out = File::open(&path).expect("the file exists");
        let length = out.seek(SeekFrom::End(0)).expect("it is a file");
        out.seek(SeekFrom::Start(length.saturating_sub(64))).expect("it is a file");
        out.read_to_string(&mut end).expect("it is text");
        end.ends_with("local2: whole\n") && length > 100 << 20
    });
    let peak = Process { pid: head.id(), command: String::new() }.peak_memory();
    assert!(peak > 0 && peak < HEAD_MEMORY, "{peak} bytes");
    File::create(scratch.path("go")).expect("room for a file");
    assert!(head.wait().expect("it is a child").success());
    scratch.assert_nothing_left();
}

#[test]
fn commands_end_when_nobody_reads_their_output() {
    let scratch = Scratch::new("exec-unread");
    for option in ["--line-buffer", "--group"] {
        let mut command = garland_in(&scratch).command(&["exec", option, "local[1-2]", "yes"]);
        let mut head = command.stdout(Stdio::piped()).spawn().expect("it is a program");
        let mut line = String::new();
        let mut out = BufReader::new(head.stdout.take().expect("it is a pipe"));
        out.read_line(&mut line).expect("a line");
        assert!(line.ends_with(": y\n"), "{line}");
        drop(out);
        assert!(head.wait().expect("it is a child").success());
    }
    scratch.assert_nothing_left();
}

#[test]
fn equal_output_is_folded_if_the_user_says_so() {
    let scratch = Scratch::new("exec-fold");
    let line =
        on_each("echo one; echo all >&2", "echo two; echo all >&2", "echo one; echo all >&2");
    let said =
        garland_in(&scratch).run(&["exec", "--fold", "-s", "local[1-3]", &line]).with_code(0);
    assert_eq!(said.out, "local[1,3]: one\nlocal2: two\n");
    assert_eq!(said.err, "local[1-3]: all\n");
    let said =
        garland_in(&scratch).run(&["exec", "--fold", "--json", "local1", "true"]).with_code(2);
    assert!(said.err.contains("with --json"), "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn output_that_cannot_be_written_is_told_and_ends_the_commands() {
    let scratch = Scratch::new("exec-full");
    let garland = garland_in(&scratch);
    let long = ["local1", "--", "sh", "-c", "seq 200000; exec sleep 600"];
    let short = ["local[1-2]", "--", "seq", "3"];
    let modes: [(&[&str], &[&str]); 5] = [
        (&[], &long),
        (&["--line-buffer"], &long),
        (&["--group"], &long),
        (&["--fold"], &short),
        (&["--json"], &short),
    ];
    for (mode, words) in modes {
        let mut command = garland.command(&[&["exec"], mode, words].concat());
        let full = File::options().write(true).open("/dev/full").expect("the device exists");
        let said = command.stdin(Stdio::null()).stdout(full).output().expect("garland starts");
        let err = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(1), "{mode:?}: {err}");
        assert!(
            err.contains("write") && err.contains("no space left on device"),
            "{mode:?}: {err}"
        );
    }
    scratch.assert_nothing_left();
}

#[test]
fn work_whose_result_cannot_be_written_is_not_told_as_nothing_done() {
    let scratch = Scratch::new("work-full");
    let garland = garland_in(&scratch);
    fs::write(scratch.path("f"), "content").expect("it can be written");
    let all = "local[1-2]";
    for (words, code) in [
        (&["up", all][..], 1),
        (&["cp", "f", "local[1-2]:/f"], 1),
        (&["cp", "--json", "f", "local[1-2]:/g"], 1),
        (&["cp", "--dry-run", "f", "local[1-2]:/h"], 3),
        (&["status"], 3),
        (&["--help"], 3),
        (&["cp", "-h"], 3),
        (&["--version"], 3),
        (&["down", all], 1),
    ] {
        let mut command = garland.command(words);
        let full = File::options().write(true).open("/dev/full").expect("the device exists");
        command.current_dir(scratch.path(""));
        let said = command.stdin(Stdio::null()).stdout(full).output().expect("garland starts");
        let err = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(code), "{words:?}: {err}");
        assert!(err.contains("no space left on device"), "{words:?}: {err}");
    }
    scratch.assert_nothing_left();
}
