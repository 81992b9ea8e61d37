//! The standard input of `garland exec`.

use garland_testkit::{RunOutput, Running, Scratch};

use super::garland_in;

/// Waits until there is input, and leaves it unread.
const AWAIT_INPUT: &str = "python3 -c 'import select; select.select([0], [], [])'";

/// Runs `garland exec ARGUMENTS` by the shell's `line`, in which `"$0" "$@"` stands for it.
fn exec(scratch: &Scratch, line: &str, arguments: &[&str]) -> RunOutput {
    let roots = scratch.path("roots");
    let words = ["exec", "--local-root", roots.to_str().expect("a path of text")];
    Running::start(garland_in(scratch).by_shell(line, &[&words[..], arguments].concat())).end()
}

#[test]
fn all_nodes_get_all_of_the_input() {
    let scratch = Scratch::new("exec-input");
    // More than the window and all pipes together.
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(31) >> 7) as u8).collect();
    std::fs::write(scratch.path("bytes"), &bytes).expect("it has room");
    // One of them reads late.
    let words = ["-s", "local[1-3]", "test -e ../local2/got || sleep 0.3; cat >got; wc -c <got"];
    let said = exec(&scratch, "\"$0\" \"$@\" <bytes", &words).with_code(0);
    assert_eq!(said.out.matches("3000000").count(), 3, "{}", said.out);
    for node in ["local1", "local2", "local3"] {
        let got = scratch.path(format!("roots/{node}/got"));
        assert!(std::fs::read(got).expect("it was written") == bytes, "{node}");
    }
    scratch.assert_nothing_left();
}

#[test]
fn input_that_a_command_does_not_read_stops_nobody() {
    let scratch = Scratch::new("exec-input-unread");
    // Endless input, of which each takes a line, and one node nothing.
    let words = ["-s", "local[1-2]", "case $PWD in *1) exit 7;; esac; head -n 1"];
    let said = exec(&scratch, "yes | \"$0\" \"$@\"", &words).with_code(1);
    assert!(said.out.contains("local2: y"), "{}", said.out);
    assert!(said.err.contains("failed  local1: exit code 7"), "{}", said.err);
    assert!(!said.err.contains("-n leaves"), "one has read some: {}", said.err);
    // What the command leaves running holds the pipe open.
    let line = format!("{AWAIT_INPUT}; exec 3<&0; sleep 1000 <&3 >/dev/null 2>&1 & exit 0");
    let words = ["-s", "local1", &line];
    let said = exec(&scratch, "yes | \"$0\" \"$@\" 2>&1", &words).with_code(0);
    assert!(said.out.contains("by no command there; -n leaves"), "{}", said.out);
    let left = scratch.processes();
    left.iter().filter(|process| process.command == "sleep 1000").for_each(|it| it.kill());
    scratch.assert_nothing_left();
}

#[test]
fn a_command_that_does_not_read_is_named_while_others_wait_for_their_input() {
    let scratch = Scratch::new("exec-input-held");
    let told = scratch.path("told");
    // One reads nothing until it is named.
    let line = format!(
        "case $PWD in *1) until test -s {}; do sleep 0.02; done;; esac; wc -c",
        told.display()
    );
    let words = ["--timeout", "60", "-s", "local[1-3]", &line];
    let shell = format!("head -c 3000000 /dev/zero | \"$0\" \"$@\" 2>{}", told.display());
    let said = exec(&scratch, &shell, &words).with_code(0);
    assert_eq!(said.out.matches("3000000").count(), 3, "{}", said.out);
    let told = std::fs::read_to_string(told).expect("it was written");
    let note = "note: standard input waits for local1, whose command does not read it\n";
    assert_eq!(told, note);
    scratch.assert_nothing_left();
}

#[test]
fn a_loop_that_loses_its_lines_is_told_and_keeps_them_with_n() {
    let scratch = Scratch::new("exec-loop");
    std::fs::write(scratch.path("list"), "local1\nlocal2\nlocal3\n").expect("it has room");
    let told = "note: 14 bytes of standard input were read here, and by no command there; -n ";
    let line = format!("{AWAIT_INPUT}; echo there");
    let looped = format!("while read node; do \"$0\" \"$@\" \"$node\" \"{line}\"; done <list");
    let said = exec(&scratch, &looped, &["--line-buffer", "-s"]);
    assert_eq!(said.out, "local1: there\n");
    assert!(said.err.contains(told), "{}", said.err);
    // Its end is input, too.
    let said = exec(&scratch, &looped, &["-n", "--line-buffer", "-s"]);
    assert_eq!(said.out, "local1: there\nlocal2: there\nlocal3: there\n");
    assert!(said.err.is_empty(), "{}", said.err);
}

#[test]
fn commands_that_take_too_long_are_ended_and_nodes_can_be_left_out() {
    let scratch = Scratch::new("exec-timeout");
    let words = ["--timeout", "1", "-x", "local2", "-s", "local[1-3]"];
    let line = "\"$0\" \"$@\" 'case $PWD in *1) exec sleep 1000;; esac; echo here'";
    let said = exec(&scratch, line, &words).with_code(1);
    assert_eq!(said.out, "local3: here\n");
    assert_eq!(said.err, "failed  local1: it did not end within 1 s\n");
    scratch.assert_nothing_left();
    let said = exec(&scratch, "\"$0\" \"$@\" true", &["-x", "local[3-4]", "local[1-3]"]);
    let unlisted = "--exclude local4: not among local[1-3]";
    assert!(said.with_code(2).err.contains(unlisted), "a mistyped name excludes nothing");
    let said = exec(&scratch, "\"$0\" \"$@\" true", &["-x", "local[1-3]", "local[1-3]"]);
    let said = said.with_code(2);
    assert!(said.err.contains("--exclude local[1-3] leaves no node of local[1-3]"), "{}", said.err);
}

#[test]
fn input_that_cannot_be_read_ends_the_commands_before_they_see_an_end() {
    let scratch = Scratch::new("exec-input-error");
    let words = ["-s", "local1", "cat >got; echo >after"];
    let said = exec(&scratch, "mkdir dir; \"$0\" \"$@\" <dir", &words).with_code(3);
    let why = "error: cannot run the command: cannot read standard input: is a directory";
    assert!(said.err.contains(why), "{}", said.err);
    assert!(!scratch.path("roots/local1/after").exists(), "the command went on");
    scratch.assert_nothing_left();
}
