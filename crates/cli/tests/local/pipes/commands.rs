//! Commands on nodes that get a copy's bytes: their exit code is the verdict.

use garland_testkit::{Garland, Running, Scratch, Wire, verdict};

use crate::pipes::{assert_copied, await_bytes, garland_in, locals, source};

const LENGTH: u64 = 40 << 20;

fn slow(scratch: &Scratch) -> Garland<'_> {
    garland_in(scratch).over(Wire::slow(200))
}

#[test]
fn every_command_gets_all_bytes_in_the_folder_of_its_node() {
    let scratch = Scratch::new("command");
    let from = source(&scratch, 5_000_001);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["source.bin", "local[1-3]:|cat > 'a \"b\" $x'"]).with_code(0);
    assert_copied(&scratch, locals(3), "a \"b\" $x", &from);
    let lanes = ["--rails", "2", "--no-encrypt", "source.bin", "local[1-3]:| cat >y"];
    let _ = garland.cp(&lanes).with_code(0);
    assert_copied(&scratch, locals(3), "y", &from);
    scratch.assert_nothing_left();
}

/// Where there are processors for it, several threads open blocks and one at a time writes them.
#[test]
fn blocks_that_several_threads_open_are_written_in_order() {
    let scratch = Scratch::new("command-openers");
    let from = source(&scratch, 70_000_001);
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots");
    let roots = roots.to_str().expect("a path in UTF-8");
    let ways: [&[&str]; 3] = [&[], &["--rails", "3"], &["--compress", "zstd"]];
    for more in ways {
        let words = ["cp", "--local-root", roots, "source.bin", "local[1-2]:|cat > x"];
        let mut command = garland.command(&[&words, more].concat());
        command.env("GARLAND_PROCESSORS", "16");
        let _ = Running::start(command).end().with_code(0);
        assert_copied(&scratch, locals(2), "x", &from);
    }
    let to = "local[1-2]:|head -c 5000000 > x";
    let mut command = garland.command(&["cp", "--local-root", roots, "source.bin", to]);
    command.env("GARLAND_PROCESSORS", "16");
    let said = Running::start(command).end();
    assert!(said.out.contains("local[1-2]"), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn one_that_fails_early_fails_its_node_alone_and_at_once() {
    let scratch = Scratch::new("command-early");
    let from = source(&scratch, LENGTH);
    let line = "case $PWD in *local2) echo broken >&2; exit 7;; esac; cat > x";
    let garland = slow(&scratch);
    let to = format!("local[1-4]:|{line}");
    let result = garland.cp(&["--json", "source.bin", &to]).with_code(1).json();
    let (word, reason) = verdict(&result, "local2");
    assert_eq!(word, "failed");
    assert!(reason.ends_with("ended with code 7: broken"), "{reason}");
    let bytes = result["nodes"][1]["bytes"].as_u64().expect("it is a number");
    assert!(bytes < LENGTH, "it failed at once: {bytes}");
    let others = || locals(4).filter(|node| node != "local2");
    for node in others() {
        assert_eq!(verdict(&result, &node), ("ok", ""), "{node}");
    }
    assert_copied(&scratch, others(), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn the_exit_code_counts_when_all_was_read() {
    let scratch = Scratch::new("command-late");
    let from = source(&scratch, 3_000_000);
    let garland = garland_in(&scratch);
    let to = "local[1-2]:|cat > x; echo full >&2; exit 3";
    let said = garland.cp(&["source.bin", to]).with_code(3);
    let failed = "failed  local[1-2]: `cat > x; echo full >&2; exit 3` ended with code 3: full\n";
    assert!(said.out.contains(failed), "{}", said.out);
    assert_copied(&scratch, locals(2), "x", &from);
    let said = garland.cp(&["source.bin", "local1:|kill -s SEGV $$"]).with_code(3);
    assert!(said.out.contains("was killed by signal 11\n"), "{}", said.out);
    let said = garland.cp(&["source.bin", "local1:|no-such-command x"]).with_code(3);
    assert!(said.out.contains("ended with code 127: "), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn one_that_does_not_read_to_the_end_is_right_if_it_says_so() {
    let scratch = Scratch::new("command-head");
    let from = std::fs::read(source(&scratch, 9_000_000)).expect("the file exists");
    let garland = garland_in(&scratch);
    for line in ["head -c 1000 > x", "head -c 1000 > x; exec <&-; sleep 0.3; echo > y", "true"] {
        let to = format!("local[1-2]:|{line}");
        let _ = garland.cp(&["source.bin", &to]).with_code(0);
    }
    for node in locals(2) {
        assert!(
            std::fs::read(scratch.root(&node).join("x")).expect("the file exists") == from[..1000]
        );
        assert!(scratch.root(&node).join("y").exists(), "its end was waited for");
    }
    scratch.assert_nothing_left();
}

#[test]
fn an_interrupt_kills_commands_before_they_see_an_end() {
    for line in ["cat > x; echo > ended", "head -c 5 > x; sleep 1000; echo > ended"] {
        let scratch = Scratch::new("command-interrupt");
        let _ = source(&scratch, LENGTH);
        let to = format!("local[1-3]:|{line}");
        let copy = slow(&scratch).start_cp(&["--json", "source.bin", &to]);
        await_bytes(&scratch, "local3", "x");
        copy.process().interrupt();
        let result = copy.end().with_code(130).json();
        for node in locals(3) {
            assert_eq!(verdict(&result, &node), ("failed", "interrupted"));
            assert!(!scratch.root(&node).join("ended").exists(), "{node}");
        }
        scratch.assert_nothing_left();
    }
}

#[test]
fn an_agent_that_is_killed_takes_its_command_with_it() {
    let scratch = Scratch::new("command-killed");
    let from = source(&scratch, LENGTH);
    let garland = slow(&scratch);
    let to = "local[1-4]:|cat > x; echo > ended";
    let copy = garland.start_cp(&["--json", "source.bin", to]);
    await_bytes(&scratch, "local4", "x");
    garland.agent("local2").kill();
    let result = copy.end().with_code(1).json();
    assert_eq!(verdict(&result, "local2").0, "dead");
    let others = || locals(4).filter(|node| node != "local2");
    for node in others() {
        assert_eq!(verdict(&result, &node), ("ok", ""), "{node}");
        assert!(scratch.root(&node).join("ended").exists(), "{node}");
    }
    // What it had is there, its end it never saw.
    assert!(!scratch.root("local2").join("ended").exists());
    assert_copied(&scratch, others(), "x", &from);
    scratch.assert_nobody_left();
}

#[test]
fn what_can_not_be_is_refused() {
    let scratch = Scratch::new("command-refused");
    let _ = source(&scratch, 10);
    std::fs::create_dir(scratch.path("folder")).expect("it can be made");
    let garland = garland_in(&scratch);
    for (arguments, says) in [
        (&["source.bin", "local1:| "][..], "no command after `|`"),
        (&["--stripe", "source.bin", "local[1-2]:|cat"], "a striped copy cannot go to commands"),
        (
            &["-r", "folder", "local1:|tar x"],
            "a tree can be copied only to a directory, not to a command",
        ),
        (&["source.bin", "|cat"], "a command on this machine is not a destination"),
        (&["|", "local1:/x"], "no command after `|`"),
        (&["-", "source.bin", "local1:/x"], "a stream cannot be copied together"),
        (&["-r", "-", "local1:/x"], "a stream is not a directory"),
        (&["--stripe", "-", "local[1-2]:/x"], "a stream cannot be striped"),
    ] {
        let said = garland.cp(arguments).with_code(2);
        assert!(said.err.contains(says), "{}", said.err);
    }
    scratch.assert_nothing_left();
}
