//! What becomes of the processes of `garland exec` when it is interrupted, its agent is killed, or
//! its command has ended.

use garland_testkit::{Garland, Running, Scratch, until};

use super::garland_in;

/// A line for the shell that starts processes in sessions of their own, one of them with a parent
/// that has ended, and waits. Each of the two makes a file in the scratch directory.
fn line(scratch: &Scratch) -> String {
    let folder = scratch.folder().display();
    format!(
        "setsid sh -c 'echo >{folder}/one; sleep 1000; echo >{folder}/after' & \
         (setsid sh -c '(echo >{folder}/two; exec sleep 1000) &' >{folder}/output 2>&1 &); wait"
    )
}

fn start(garland: &Garland<'_>, scratch: &Scratch, line: &str) -> Running {
    let roots = scratch.path("roots");
    let words = ["exec", "--local-root", roots.to_str().expect("a path of text")];
    garland.start(&[&words[..], &["-s", "local1", line]].concat())
}

fn await_files(scratch: &Scratch, names: &[&str]) {
    for name in names {
        until(&format!("{name} is there"), || scratch.path(name).exists());
    }
}

#[test]
fn an_interrupted_command_ends_with_what_it_started_in_other_sessions() {
    let scratch = Scratch::new("exec-interrupted");
    let garland = garland_in(&scratch);
    let exec = start(&garland, &scratch, &line(&scratch));
    await_files(&scratch, &["one", "two"]);
    exec.process().interrupt();
    let _ = exec.end().with_code(130);
    scratch.assert_nothing_left();
    assert!(!scratch.path("after").exists(), "a shell went on when its child was killed");
}

#[test]
fn a_command_whose_agent_is_killed_ends_with_what_it_started_in_other_sessions() {
    let scratch = Scratch::new("exec-orphans");
    let garland = garland_in(&scratch);
    let exec = start(&garland, &scratch, &line(&scratch));
    await_files(&scratch, &["one", "two"]);
    garland.agent("local1").kill();
    let _ = exec.end().with_code(3);
    scratch.assert_nothing_left();
    assert!(!scratch.path("after").exists(), "a shell went on when its child was killed");
}

#[test]
fn a_command_whose_agent_is_killed_sees_no_end_of_its_input() {
    let scratch = Scratch::new("exec-killed-input");
    let roots = scratch.path("roots");
    let words = ["exec", "--local-root", roots.to_str().expect("a path of text")];
    // It would take what came for all of its input.
    let command = ["-s", "local1", "head -n 1 >first; cat >rest; echo >after"];
    // The input stays open until the test ends.
    let input = scratch.path("input");
    let line = format!(
        "mkfifo {0}; (echo one; exec sleep 1000) >{0} 2>/dev/null & \"$0\" \"$@\" <{0}",
        input.display()
    );
    let garland = garland_in(&scratch);
    let exec = Running::start(garland.by_shell(&line, &[&words[..], &command].concat()));
    let first = scratch.path("roots/local1/first");
    until("the command reads", || std::fs::read(&first).is_ok_and(|read| read == b"one\n"));
    garland.agent("local1").kill();
    let _ = exec.end().with_code(3);
    let sleepers = scratch.processes().into_iter().filter(|it| it.command == "sleep 1000");
    sleepers.for_each(|sleeper| sleeper.kill());
    scratch.assert_nothing_left();
    assert!(!scratch.path("roots/local1/after").exists(), "it took half of its input for all");
}

#[test]
fn what_a_command_leaves_running_goes_on_when_it_has_ended() {
    let scratch = Scratch::new("exec-daemon");
    let garland = garland_in(&scratch);
    let one = scratch.path("one");
    let line = format!(
        "setsid sh -c 'echo >{0}; exec sleep 1000' >/dev/null 2>&1 & \
         until test -e {0}; do sleep 0.02; done",
        one.display()
    );
    let _ = start(&garland, &scratch, &line).end().with_code(0);
    let mut left = Vec::new();
    until("the agent and its guard end", || {
        left = scratch.processes();
        left.len() <= 1
    });
    assert!(left.len() == 1 && left[0].command == "sleep 1000", "{left:?}");
    left[0].kill();
    scratch.assert_nothing_left();
}

/// Every user of a machine sees the command lines of all processes.
#[test]
fn the_mark_of_a_command_is_on_no_command_line() {
    let scratch = Scratch::new("exec-mark");
    let garland = garland_in(&scratch);
    let mark = scratch.path("mark");
    let line = format!(
        "printf %s \"$GARLAND_MARK\" >{0}.part; mv {0}.part {0}; exec sleep 1000",
        mark.display()
    );
    let exec = start(&garland, &scratch, &line);
    await_files(&scratch, &["mark"]);
    let mark = std::fs::read_to_string(mark).expect("it was written");
    let processes = scratch.processes();
    let guards = processes.iter().filter(|process| process.command.contains("farm guard"));
    assert_eq!((guards.count(), mark.len()), (1, 16), "{processes:?}");
    let with = processes.iter().find(|process| process.command.contains(&mark));
    assert!(with.is_none(), "{with:?}");
    exec.process().interrupt();
    let _ = exec.end().with_code(130);
    scratch.assert_nothing_left();
}
