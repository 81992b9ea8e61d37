//! Copies that end before they are over: by the user's will, or because the head dies.

use std::process::Command;
use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{Garland, Process, Running, Scratch, Wire, processes_with, soon, until};

use crate::copy::{assert_copied, await_middle, garland_in, locals, source, verdict, visible_in};

const LENGTH: u64 = 40 << 20;

fn slow(scratch: &Scratch) -> Garland<'_> {
    garland_in(scratch).over(Wire::slow(200))
}

#[test]
fn an_interrupt_ends_cleanly() {
    let scratch = Scratch::new("interrupt");
    let from = source(&scratch, LENGTH);
    let garland = slow(&scratch);
    let copy = garland.start_cp(&["--json", "source.bin", "local[1-4]:/x"]);
    await_middle(&scratch, "local4", &from, 0);
    copy.process().interrupt();
    let result = copy.end().with_code(130).json();
    assert_eq!(result["interrupted"], true);
    for node in locals(4) {
        assert_eq!(verdict(&result, &node), ("failed", "interrupted"));
        assert_eq!(visible_in(&scratch, &node, ""), Vec::<String>::new());
    }
    scratch.assert_nobody_left();
}

#[test]
fn signals_that_were_ignored_at_the_start_stay_ignored() {
    let scratch = Scratch::new("ignored-signals");
    let from = source(&scratch, 8 << 20);
    let words = ["cp", "--local-root", "roots", "--bwlimit", "8MB/s", "source.bin", "local1:/x"];
    // As nohup(1) does, and a shell for a command in the background.
    let line = "trap '' HUP INT; exec \"$0\" \"$@\"";
    let copy = Running::start(garland_in(&scratch).by_shell(line, &words));
    await_middle(&scratch, "local1", &from, 0);
    for signal in ["HUP", "INT"] {
        let pid = copy.process().pid.to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status().expect("kill runs");
        assert!(sent.success());
    }
    let _ = copy.end().with_code(0);
    assert_copied(&scratch, locals(1), "x", &from);
    scratch.assert_nobody_left();
}

#[test]
fn an_interrupt_keeps_the_old_file() {
    let scratch = Scratch::new("interrupt-old");
    let from = source(&scratch, LENGTH);
    for node in locals(2) {
        std::fs::create_dir_all(scratch.root(&node)).expect("it can be made");
        std::fs::write(scratch.root(&node).join("x"), b"old").expect("it can be written");
    }
    let copy = slow(&scratch).start_cp(&["source.bin", "local[1-2]:/x"]);
    await_middle(&scratch, "local2", &from, 0);
    copy.process().interrupt();
    let said = copy.end().with_code(130);
    assert!(said.out.contains("failed  local[1-2]: interrupted\n"), "{}", said.out);
    for node in locals(2) {
        assert_eq!(visible_in(&scratch, &node, ""), ["x"]);
        assert_eq!(std::fs::read(scratch.root(&node).join("x")).expect("the file exists"), b"old");
    }
    scratch.assert_nobody_left();
}

#[test]
fn an_interrupt_does_not_wait_for_a_node_that_hangs() {
    for hung in ["local1", "local3"] {
        soon("from Ctrl-C to the end", Duration::from_secs(2), || {
            let scratch = Scratch::new("interrupt-hung");
            let from = source(&scratch, LENGTH);
            let garland = slow(&scratch);
            let copy = garland.start_cp(&["--json", "source.bin", "local[1-4]:/x"]);
            await_middle(&scratch, "local4", &from, 0);
            garland.agent(hung).stop();
            let began = clock::now_ns();
            copy.process().interrupt();
            let result = copy.end().with_code(130).json();
            let waited = Duration::from_nanos(clock::now_ns() - began);
            assert_eq!(result["interrupted"], true);
            for node in locals(4).filter(|node| node != hung) {
                assert_eq!(visible_in(&scratch, &node, ""), Vec::<String>::new(), "{node}");
            }
            // A machine that hangs removes nothing.
            std::fs::remove_dir_all(scratch.root(hung)).expect("the directory exists");
            scratch.assert_nobody_left();
            waited
        });
    }
}

#[test]
fn an_interrupted_command_does_not_wait_for_a_node_that_hangs() {
    soon("from Ctrl-C to the end", Duration::from_secs(2), || {
        let scratch = Scratch::new("interrupt-exec");
        let garland = garland_in(&scratch);
        let roots = scratch.path("roots").to_string_lossy().into_owned();
        let words = ["exec", "--local-root", &roots, "local[1-3]", "--", "sleep", "600"];
        let exec = garland.start(&words);
        let sleeping = || -> Vec<Process> {
            let processes = processes_with(scratch.folder()).into_iter();
            processes.filter(|process| process.command == "sleep 600").collect()
        };
        until("the command on every node", || sleeping().len() == 3);
        garland.agent("local2").stop();
        let began = clock::now_ns();
        exec.process().interrupt();
        let said = exec.end().with_code(130);
        let waited = Duration::from_nanos(clock::now_ns() - began);
        assert!(said.err.contains("failed  local[1-3]: interrupted"), "{}", said.err);
        // That of the node that hangs, too: its guard ends it with its agent.
        until("the end of all", || processes_with(scratch.folder()).is_empty());
        waited
    });
}

#[test]
fn a_head_that_is_killed_leaves_no_agent_no_file_and_a_word_in_the_logs() {
    let scratch = Scratch::new("head-killed");
    let from = source(&scratch, LENGTH);
    let garland = slow(&scratch);
    let copy = garland.start_cp(&["source.bin", "local[1-4]:/x"]);
    await_middle(&scratch, "local4", &from, 0);
    copy.process().kill();
    let _ = copy.end().with_code(128 + 9);
    scratch.assert_nobody_left();
    for node in locals(4) {
        assert_eq!(visible_in(&scratch, &node, ""), Vec::<String>::new());
        let log = garland.runs()[0].join(format!("{node}.log"));
        let log = std::fs::read_to_string(log).expect("its agent has a log");
        assert!(log.contains("the head is gone"), "{log:?}");
    }
}

#[test]
fn a_reader_of_its_output_that_is_gone_costs_nothing() {
    let scratch = Scratch::new("no-reader");
    let from = source(&scratch, 100_000);
    let inner = garland_in(&scratch).command(&["cp", "--local-root", "roots", "source.bin"]);
    let mut shell = Command::new("sh");
    // The pipe's reader is gone long before there is anything to read.
    let script = "{ \"$0\" \"$@\" 2> errors; echo $? > code; } | true";
    shell.args(["-c", script]).arg(inner.get_program()).args(inner.get_args());
    shell.arg("local[1-2]:/x").current_dir(scratch.folder());
    shell.env("GARLAND_STATE", scratch.state());
    let _ = Running::start(shell).end().with_code(0);
    let read = |name| std::fs::read_to_string(scratch.path(name)).expect("the shell wrote it");
    assert_eq!((read("code").as_str(), read("errors").as_str()), ("0\n", ""));
    assert_copied(&scratch, locals(2), "x", &from);
    scratch.assert_nothing_left();
}
