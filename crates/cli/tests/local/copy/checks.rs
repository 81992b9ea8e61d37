//! Copies that are held to a rate, and what is found out at their end by reading back.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use garland_protocol::copy::{Checksum, Summing};
use garland_testkit::{Garland, Scratch};

use crate::copy::{assert_copied, garland_in, locals, names_in, source, verdict};

/// 8 MB at 4 MB/s. The kernel doesn't pace a connection's first ten segments, which are of 64 KiB
/// on loopback: that is below a tenth of it.
const LENGTH: u64 = 8_000_000;

const RATE: u64 = 4_000_000;

/// The most bytes a second that each node of a copy got.
#[track_caller]
fn fastest(garland: &Garland<'_>, words: &[&str]) -> u64 {
    let ends = ["source.bin", "local[1-4]:/x"];
    let result = garland.cp(&[&["--json"], words, &ends].concat()).with_code(0).json();
    let nodes = result["nodes"].as_array().expect("a result has nodes");
    nodes.iter().filter_map(|node| node["rate"].as_u64()).max().expect("a node has a rate")
}

#[test]
fn each_link_is_held_to_its_rate_and_a_chain_is_no_slower_for_its_length() {
    let scratch = Scratch::new("bwlimit");
    let from = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let limit = RATE + RATE / 10;
    // Whether all links carry at the same time can be spoilt by other programs, but not each time.
    let together = (0..5).any(|_| {
        let words = ["--whole", "--bwlimit", "4MB/s", "--block-size", "64KiB"];
        let rate = fastest(&garland, &words);
        assert!(rate < limit, "{rate} bytes a second");
        rate > RATE / 2
    });
    assert!(together, "four links in a row take less than twice the time of one");
    assert_copied(&scratch, locals(4), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn a_gathered_file_is_held_to_its_rate_by_the_node_that_gives_it() {
    let scratch = Scratch::new("bwlimit-in");
    let from = source(&scratch, LENGTH);
    fs::create_dir_all(scratch.root("local1")).expect("it can be made");
    fs::copy(&from, scratch.root("local1").join("x")).expect("it can be copied");
    let words = ["--json", "--bwlimit", "4MB/s", "local1:/x", "here"];
    let result = garland_in(&scratch).cp(&words).with_code(0).json();
    let rate = result["nodes"][0]["rate"].as_u64().expect("it arrived");
    assert!(rate < RATE + RATE / 10, "{rate} bytes a second");
    assert!(fs::read(&from).ok() == fs::read(scratch.path("here")).ok());
    scratch.assert_nothing_left();
}

#[test]
fn a_link_that_was_held_to_a_rate_is_not_the_next_copys() {
    let scratch = Scratch::new("bwlimit-parked");
    let _ = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots");
    let roots = roots.to_str().expect("a scratch folder has a plain name");
    let _ = garland.run(&["up", "--local-root", roots, "local[1-4]"]).with_code(0);
    let slow = fastest(&garland, &["--whole", "--bwlimit", "4MB/s"]);
    assert!(slow < RATE + RATE / 10, "{slow} bytes a second");
    let quick = (0..5).any(|_| fastest(&garland, &["--whole"]) > 3 * slow);
    assert!(quick, "without a limit it is as fast as ever");
    let _ = garland.run(&["down", "local[1-4]"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn what_the_medium_lost_fails_its_node_and_does_not_appear() {
    let scratch = Scratch::new("verify");
    let from = source(&scratch, 3_000_000);
    let garland = garland_in(&scratch);
    for lanes in ["1", "3"] {
        let words = ["--json", "--verify", "--block-size", "1MiB", "--rails", lanes];
        let spoilt = ["--inject", "rot:local2:1500000", "source.bin", "local[1-3]:/d/x"];
        let wanted = "block 1 of /d/x (1048576 bytes from offset 1048576 of the source) differs on \
                      the disk from what was written; check the disk";
        for node in locals(3) {
            fs::create_dir_all(scratch.root(&node).join("d")).expect("it can be made");
        }
        let result = garland.cp(&[&words[..], &spoilt].concat()).with_code(1).json();
        assert_eq!(verdict(&result, "local2"), ("failed", wanted));
        assert_eq!(names_in(&scratch, "local2", "d"), Vec::<String>::new());
        for node in ["local1", "local3"] {
            assert_eq!(verdict(&result, node), ("ok", ""));
            let nodes = result["nodes"].as_array().expect("a result has nodes");
            assert!(nodes.iter().all(|entry| entry["verified"] == (entry["name"] != "local2")));
            assert_copied(&scratch, [node.to_owned()].into_iter(), "d/x", &from);
        }
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_byte_that_changes_between_hashing_and_sealing_is_found_by_every_node() {
    let scratch = Scratch::new("flip-memory");
    let from = source(&scratch, 3_000_000);
    let garland = garland_in(&scratch);
    let ways: [&[&str]; 4] = [&[], &["--no-encrypt"], &["--compress", "zstd"], &["--rails", "3"]];
    for way in ways {
        let flip = ["--json", "--whole", "--block-size", "1MiB", "--inject", "flip:1500000"];
        let words = [&flip[..], way, &["source.bin", "local[1-3]:x"]].concat();
        let result = garland.cp(&words).with_code(0).json();
        assert_copied(&scratch, locals(3), "x", &from);
        let faults = result["faults"].as_array().expect("a result has faults");
        let [fault] = &faults[..] else { panic!("{way:?}: one byte changed: {faults:?}") };
        assert_eq!(fault["block"], 1, "{fault}");
        assert_eq!(fault["from"], "head", "{fault}");
    }
    // A byte of a block of zeros, and of a hole.
    fs::write(scratch.path("zeros"), vec![0; 3_000_000]).expect("it can be written");
    let hole = File::create(scratch.path("hole")).and_then(|file| file.set_len(3_000_000));
    hole.expect("it can be made");
    for source in ["zeros", "hole"] {
        let flip = ["--json", "--whole", "--block-size", "1MiB", "--inject", "flip:1500000"];
        let result = garland.cp(&[&flip[..], &[source, "local1:x"]].concat()).with_code(0).json();
        assert_eq!(result["faults"].as_array().map(Vec::len), Some(1), "{source}: {result}");
        assert_copied(&scratch, locals(1), "x", &scratch.path(source));
    }
    // No byte of the block has reached the command before it was found.
    let flip = ["--block-size", "1MiB", "--inject", "flip:1500000", "source.bin"];
    let _ = garland.cp(&[&flip[..], &["local[1-2]:|cat > piped"]].concat()).with_code(0);
    assert_copied(&scratch, locals(2), "piped", &from);
    scratch.assert_nothing_left();
}

#[test]
fn stripes_are_read_back_too_and_none_appears_without_all() {
    let scratch = Scratch::new("verify-stripes");
    let from = source(&scratch, 3_000_000);
    let garland = garland_in(&scratch);
    let words = ["--json", "--verify", "--digest=b3", "--stripe=64KiB"];
    let out = [&words[..], &["source.bin", "local[1-3]:/x"]].concat();
    let result = garland.cp(&out).with_code(0).json();
    let nodes = result["nodes"].as_array().expect("a result has nodes");
    for (number, node) in nodes.iter().enumerate() {
        let name = format!("x.stripe-{}of3", number + 1);
        assert_eq!(node["checksum"]["path"], format!("/{name}"), "{node}");
        let root = scratch.root(node["name"].as_str().expect("it has a name"));
        let bytes = fs::read(root.join(name)).expect("the stripe is there");
        assert_eq!(node["checksum"]["digest"], b3(&bytes));
    }
    let back = [&words[..], &["local[1-3]:/x", "here"]].concat();
    let result = garland.cp(&back).with_code(0).json();
    let digest = b3(&fs::read(&from).expect("the source is there"));
    assert_eq!(result["nodes"][0]["checksum"]["digest"], digest);
    // The place is that of the whole file: 64 KiB, the second server's first unit.
    let rotten = [&["--inject", "rot:local2:64KiB"], &out[..]].concat();
    let said = garland.cp(&rotten);
    assert!(said.code != 0, "{}", said.out);
    let result = said.json();
    assert!(verdict(&result, "local2").1.starts_with("block 1 of /x.stripe-2of3 "), "{result}");
    scratch.assert_nothing_left();
}

/// The BLAKE3 digest, in hexadecimal.
fn b3(bytes: &[u8]) -> String {
    let mut summing = Summing::new(Checksum::B3);
    summing.update(bytes);
    summing.finish().map(|byte| format!("{byte:02x}")).concat()
}

/// Whether `program --check` takes `lines` in `folder`.
#[track_caller]
fn checked(program: &str, lines: &[u8], folder: &Path) -> bool {
    let mut child = Command::new(program)
        .args(["--check", "--strict", "-"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    child.stdin.take().expect("it is piped").write_all(lines).expect("it reads");
    child.wait().expect("it ends").success()
}

#[test]
fn digests_are_lines_that_sha256sum_takes() {
    let scratch = Scratch::new("checksum");
    let _ = source(&scratch, 2_500_001);
    fs::copy(scratch.path("source.bin"), scratch.path("odd\\name\n")).expect("it can be copied");
    let garland = garland_in(&scratch);
    for name in ["source.bin", "odd\\name\n"] {
        let said = garland.cp(&["--digest", name, "local[1-3]:."]).with_code(0);
        assert_eq!(said.out.lines().count(), 1, "equal ones are one line: {}", said.out);
        assert!(said.err.contains("to 3 of 3 nodes"), "{}", said.err);
        // Paths begin at the node's root.
        for node in locals(3) {
            assert!(checked("sha256sum", &said.bytes, &scratch.root(&node)), "{}", said.out);
        }
    }
    fs::write(scratch.root("local2").join("source.bin"), b"other").expect("it can be written");
    let said = garland.cp(&["--digest=sha256", "local1:source.bin", "here"]).with_code(0);
    assert!(checked("sha256sum", &said.bytes, scratch.folder()));
    assert!(said.out.ends_with("  here\n"), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn what_cannot_be_read_back_is_refused() {
    let scratch = Scratch::new("verify-refused");
    let _ = source(&scratch, 10);
    let refused = |words: &[&str]| garland_in(&scratch).cp(words).with_code(2).err;
    for to in ["local1:-", "local1:/dev/null"] {
        let said = refused(&["--verify", "source.bin", to]);
        let wanted = "error: data that goes to a pipe, a command or /dev/null cannot be read back";
        assert!(said.starts_with(wanted), "{said}");
    }
    let said = refused(&["--digest", "local1:/x", "/dev/null"]);
    assert!(
        said.starts_with("error: data that goes to /dev/null or a pipe cannot be read back"),
        "{said}"
    );
    assert!(refused(&["--verify", "--no-fsync", "source.bin", "local1:/x"]).contains("--no-fsync"));
    assert!(refused(&["--bwlimit", "fast", "source.bin", "local1:/x"]).contains("fast"));
    scratch.assert_nothing_left();
}
