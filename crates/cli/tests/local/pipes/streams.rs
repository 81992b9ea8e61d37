//! Sources that come once and whose length nobody knows: standard input, commands, named pipes.

use std::fs::File;
use std::io::{PipeWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use garland_testkit::{Garland, Scratch, Wire, random_bytes, until, verdict};

use crate::pipes::{assert_copied, await_bytes, garland_in, locals, source, stand_still};

/// A standard input, and what it comes from.
fn pipe() -> (Stdio, PipeWriter) {
    let (reader, writer) = std::io::pipe().expect("there are descriptors");
    (Stdio::from(reader), writer)
}

/// Feeds the file `from` into a pipe, in pieces of odd sizes.
fn pour(from: &Path, mut into: PipeWriter) -> std::thread::JoinHandle<()> {
    let mut from = File::open(from).expect("the source is there");
    std::thread::spawn(move || {
        let mut buffer = vec![0; 77_777];
        loop {
            let read = from.read(&mut buffer).expect("it can be read");
            // Whoever reads may have had enough.
            if read == 0 || into.write_all(&buffer[..read]).is_err() {
                return;
            }
        }
    })
}

fn slow(scratch: &Scratch) -> Garland<'_> {
    garland_in(scratch).over(Wire::slow(200))
}

#[test]
fn standard_input_of_any_length_reaches_every_node() {
    let scratch = Scratch::new("stream");
    let garland = garland_in(&scratch);
    for (length, more) in [
        (0, &[][..]),
        (1, &[]),
        (1 << 20, &["--rails", "3"]),
        (3 << 20, &[]),
        (12_345_678, &["--rails", "2", "--no-encrypt"]),
        (40_000_000, &["--block-size", "4KiB"]),
        (9_999_999, &["--shape", "chain"]),
        (2_000_001, &["--verify"]),
    ] {
        let from = source(&scratch, length);
        let input = File::open(&from).expect("the file exists");
        let arguments = [more, &["--json", "-", "local[1-3]:/x"]].concat();
        let result = garland.start_cp_reading(&arguments, input).end().with_code(0).json();
        assert_eq!(result["bytes"], length, "{result}");
        assert_eq!(result["nodes"][2]["bytes"], length, "{result}");
        assert_copied(&scratch, locals(3), "x", &from);
    }
    scratch.assert_nothing_left();
}

/// The other node that feeds it from its file has to tell it the end of the stream.
#[test]
fn a_node_that_stood_still_gets_the_rest_of_a_stream_and_its_end() {
    let scratch = Scratch::new("stream-still");
    let from = source(&scratch, 40 << 20);
    let garland = garland_in(&scratch);
    let input = File::open(&from).expect("the file exists");
    let words = ["--json", "--bwlimit", "80mbit", "--dead-after", "30s", "-", "local[1-3]:/x"];
    let copy = garland.start_cp_reading(&words, input);
    stand_still(&garland, &scratch);
    let result = copy.end().with_code(0).json();
    assert_eq!(verdict(&result, "local2"), ("ok", ""));
    assert_copied(&scratch, locals(3), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn a_pipe_goes_to_commands_and_stays_whole_when_nodes_die() {
    let scratch = Scratch::new("stream-deaths");
    let from = source(&scratch, 60 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(400));
    let (input, writer) = pipe();
    let to = "local[1-6]:|cat > x; echo > ended";
    let copy = garland.start_cp_reading(&["--json", "-", to], input);
    let pouring = pour(&from, writer);
    await_bytes(&scratch, "local6", "x");
    for victim in ["local1", "local2", "local5"] {
        garland.agent(victim).kill();
    }
    let result = copy.end().with_code(1).json();
    pouring.join().expect("it doesn't panic");
    for node in ["local3", "local4", "local6"] {
        assert_eq!(verdict(&result, node), ("ok", ""), "{node}");
        assert_copied(&scratch, std::iter::once(node.to_owned()), "x", &from);
    }
    for node in ["local1", "local2", "local5"] {
        assert_eq!(verdict(&result, node).0, "dead");
        assert!(!scratch.root(node).join("ended").exists(), "{node}");
    }
    scratch.assert_nobody_left();
}

#[test]
fn a_stream_may_pause_and_a_node_may_die_meanwhile() {
    let scratch = Scratch::new("stream-pause");
    let bytes = random_bytes(5_000_000, 8);
    std::fs::write(scratch.path("source.bin"), &bytes).expect("there is room");
    let garland = garland_in(&scratch);
    let (input, mut writer) = pipe();
    let copy = garland.start_cp_reading(&["--json", "-", "local[1-3]:|cat > x"], input);
    writer.write_all(&bytes[..2_500_000]).expect("it is read");
    // What fills no block isn't sent: two blocks are.
    until("two blocks", || {
        let stat = scratch.root("local3").join("x").metadata();
        stat.is_ok_and(|stat| stat.len() == 2 << 20)
    });
    garland.agent("local2").kill();
    std::thread::sleep(Duration::from_millis(300));
    writer.write_all(&bytes[2_500_000..]).expect("it is read");
    drop(writer);
    let result = copy.end().with_code(1).json();
    assert_eq!(verdict(&result, "local2").0, "dead");
    for node in ["local1", "local3"] {
        assert_eq!(verdict(&result, node), ("ok", ""), "{node}");
    }
    let others = ["local1", "local3"].map(str::to_owned).into_iter();
    assert_copied(&scratch, others, "x", &scratch.path("source.bin"));
    scratch.assert_nobody_left();
}

#[test]
fn an_interrupted_stream_leaves_nothing_though_it_hangs() {
    let scratch = Scratch::new("stream-interrupt");
    let (input, mut writer) = pipe();
    let copy = garland_in(&scratch).start_cp_reading(&["--json", "-", "local[1-2]:/x"], input);
    writer.write_all(&random_bytes(3_000_000, 1)).expect("it is read");
    until("a partial file", || !scratch.partial_files().is_empty());
    copy.process().interrupt();
    let _ = copy.end().with_code(130);
    assert!(!scratch.root("local1").join("x").exists());
    drop(writer);
    scratch.assert_nothing_left();
}

#[test]
fn a_command_s_output_is_copied_if_it_ends_well() {
    let scratch = Scratch::new("stream-command");
    let from = source(&scratch, 7_000_000);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["|cat 'source.bin'", "local[1-2]:/x"]).with_code(0);
    assert_copied(&scratch, locals(2), "x", &from);
    let said = garland.cp(&["|cat source.bin; echo why >&2; exit 5", "local[1-2]:/x"]).with_code(3);
    let reason = "`cat source.bin; echo why >&2; exit 5` ended with code 5: why\n";
    assert!(said.out.contains(reason), "{}", said.out);
    let to = "local[1-2]:|cat > y; echo > ended";
    let _ = garland.cp(&["|cat source.bin; kill -s TERM $$", to]).with_code(3);
    for node in locals(2) {
        assert!(!scratch.root(&node).join("ended").exists(), "no clean end for half a stream");
    }
    assert_copied(&scratch, locals(2), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn a_command_of_this_machine_ends_with_the_copy() {
    let scratch = Scratch::new("stream-endless");
    let garland = slow(&scratch);
    let copy = garland.start_cp(&["|cat /dev/zero", "local[1-2]:/x"]);
    until("a partial file", || !scratch.partial_files().is_empty());
    copy.process().interrupt();
    let _ = copy.end().with_code(130);
    // It hasn't even begun where only the plan is asked for.
    let said = garland.cp(&["--dry-run", "|echo > begun", "local[1-2]:/x"]).with_code(0);
    assert!(said.out.starts_with("unknown length, in blocks of"), "{}", said.out);
    assert!(!scratch.path("begun").exists());
    scratch.assert_nothing_left();
}

#[test]
fn a_named_pipe_is_a_source_that_waits_for_its_writer() {
    let scratch = Scratch::new("stream-fifo");
    let from = source(&scratch, 2_345_678);
    let made = Command::new("mkfifo").arg(scratch.path("fifo")).status();
    assert!(made.expect("mkfifo is there").success());
    std::fs::create_dir_all(scratch.root("local1").join("d")).expect("it can be made");
    let copy = garland_in(&scratch).start_cp(&["fifo", "local1:/d/"]);
    let mut fifo = File::options().write(true).open(scratch.path("fifo")).expect("it is read");
    fifo.write_all(&std::fs::read(&from).expect("the file exists")).expect("it is read");
    drop(fifo);
    let _ = copy.end().with_code(0);
    assert_copied(&scratch, locals(1), "d/fifo", &from);
    scratch.assert_nothing_left();
}

#[test]
fn what_has_no_name_needs_one() {
    let scratch = Scratch::new("stream-name");
    let said = garland_in(&scratch).cp(&["|echo x", "local1:/d/"]).with_code(3);
    assert!(said.out.contains("it is a directory, and the source has no name"), "{}", said.out);
    scratch.assert_nothing_left();
}
