//! `garland ping` from outside: on agents of this machine, and between nodes of a lab.

use std::time::Duration;

use garland_testkit::Scratch;

use crate::garland_in;

#[test]
fn gets_are_told_in_pgpings_lines() {
    let scratch = Scratch::new("ping-lines");
    let said =
        garland_in(&scratch).run(&["ping", "local[1-2]", "0", "64", "-n", "500"]).with_code(0);
    let lines: Vec<&str> = said.out.lines().filter(|line| line.starts_with("  1: ")).collect();
    let sizes: Vec<&str> = lines.iter().filter_map(|l| l.split_whitespace().nth(1)).collect();
    assert_eq!(sizes, ["0", "4", "8", "16", "32", "64"], "{}", said.out);
    assert!(lines.iter().all(|line| line.contains(" uSec ") && line.contains(" MB/s")));
    assert!(said.out.contains("emulated"), "{}", said.out);
    assert!(said.out.contains("reading the clock takes"), "{}", said.out);
}

#[test]
fn every_kind_goes_by_every_means() {
    let scratch = Scratch::new("ping-kinds");
    for transport in ["tcp", "shm"] {
        for function in ["get", "put", "msg"] {
            let arguments = ["ping", "local[1-2]", "-f", function, "--transport", transport];
            let more = ["-n", "300", "-b", "1..4", "0", "100000", "--time", "0.2", "--json"];
            let said = garland_in(&scratch).run(&[&arguments[..], &more].concat()).with_code(0);
            let result = said.json();
            assert_eq!(result["schema"], "garland.ping/2");
            let points = result["pairs"][0]["points"].as_array().cloned().unwrap_or_default();
            assert_eq!(points.len(), 17 * 3, "{transport} {function}: {}", said.out);
            for point in points {
                let [min, p50, max] =
                    ["min", "p50", "max"].map(|name| point["sojourn"][name].as_u64());
                assert!(min <= p50 && p50 <= max && max.is_some(), "{point}");
                assert!(point["count"].as_u64() > Some(0), "{point}");
            }
        }
    }
}

#[test]
fn how_much_of_a_rate_is_batching_is_said() {
    let scratch = Scratch::new("ping-batch");
    let run = |words: &[&str]| {
        let common = ["ping", "local[1-2]", "-n", "500", "8"];
        garland_in(&scratch).run(&[&common[..], words].concat()).with_code(0).out
    };
    for wait in ["block", "poll"] {
        let said = run(&["-b", "16", "--wait", wait]);
        assert!(said.contains("depth   with 16 in flight one completes every "), "{said}");
        assert!(said.contains(" operations in each write, a write every "), "{said}");
        assert!(said.contains(" of this rate comes from batching"), "{said}");
    }
    // One at a time shares its write with nobody, nor do stores.
    assert!(!run(&[]).contains("batch"));
    assert!(!run(&["-b", "16", "--transport", "shm"]).contains("batch"));
}

#[test]
fn a_rate_is_kept_and_polling_works() {
    let scratch = Scratch::new("ping-rate");
    let arguments = [
        "ping",
        "local[1-2]",
        "--per-second",
        "2000",
        "--time",
        "0.5s",
        "--wait",
        "poll",
        "--json",
    ];
    let result = garland_in(&scratch).run(&arguments).with_code(0).json();
    let point = &result["pairs"][0]["points"][0];
    assert_eq!(point["count"], 1000);
    assert!(point["elapsed_ns"].as_u64() > Some(450_000_000), "{point}");
}

#[test]
fn a_sweep_names_what_binds() {
    let scratch = Scratch::new("ping-sweep");
    let said =
        garland_in(&scratch).run(&["ping", "local[1-2]", "--sweep", "--time", "0.1"]).with_code(0);
    for wanted in ["LogGP   L ", "knee    ", "bottleneck: ", "busy: sender "] {
        assert!(said.out.contains(wanted), "{}", said.out);
    }
}

#[test]
fn what_can_not_be_measured_is_refused_with_the_way_out() {
    let scratch = Scratch::new("ping-refused");
    let refused = |arguments: &[&str], wanted: &str| {
        let all = [&["ping"], arguments].concat();
        let said = garland_in(&scratch).run(&all).with_code(2);
        assert!(said.err.contains(wanted), "{all:?}: {}", said.err);
    };
    refused(&["local1"], "ping needs two nodes or more");
    refused(&["local[1-2]", "1TiB"], "at most 16.00 MiB is allowed");
    refused(&["local[1-2]", "64", "8"], "is above the largest");
    refused(&["local[1-2]", "-b", "0"], "from 1 to 4096");
    refused(&["local[1-2]", "-b", "9..2"], "N or N..M");
    refused(&["local[1-2]", "--time", "0"], "from 0.001 to 600 s");
    refused(&["local[1-2]", "--pin", "one"], "not two CPU numbers");
    refused(&["local[1-2]", "8", "64", "--sweep"], "give at most one size");
    let said = garland_in(&scratch).run(&["ping", "local[1-2]", "--pin", "999,999"]).with_code(3);
    assert!(said.out.contains("cannot run on CPU 999"), "{}", said.out);
}

#[test]
fn an_agent_that_dies_or_stalls_is_named_and_what_was_measured_is_kept() {
    for (stalls, wanted) in [(false, "failed  local2: "), (true, "failed  local2: no message")] {
        let scratch = Scratch::new("ping-death");
        let garland = garland_in(&scratch);
        let roots = scratch.root("");
        let folder = roots.to_string_lossy();
        let options = ["-n", "100000000", "--time", "20", "--local-root", &folder];
        let running = garland.start(&[&["ping", "local[1-2]", "8", "16"], &options[..]].concat());
        let agent = garland.agent("local2");
        std::thread::sleep(Duration::from_millis(1000));
        if stalls {
            agent.stop()
        } else {
            agent.kill()
        }
        let said = running.end();
        assert!(said.out.contains(wanted), "{stalls}: {}{}", said.out, said.err);
        assert_eq!(said.code, 3, "nothing was measured to its end");
        agent.kill();
    }
}

#[test]
fn what_is_emulated_is_found_again() {
    let scratch = Scratch::new("ping-emulated");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "2", "--rate", "10mbit"]).with_code(0);
    let sweep = ["ping", "lab:n[1-2]", "1024", "--sweep", "--time", "0.2", "--json"];
    // What else this machine does may take from the wire; nothing makes it faster than it is.
    let is_found = (0..4).any(|_| {
        let result = garland.run(&sweep).with_code(0).json();
        let found = &result["pairs"][0]["sweep"];
        eprintln!("{found}");
        let number = |name: &str| found[name].as_f64().unwrap_or(f64::NAN);
        // A byte of payload takes the wire for 1538 / 1448 bytes at 10 Mbit/s: 850 ns.
        let per_byte = number("gap_per_byte_ns");
        // So do the 1024 bytes of every get, however many are in flight, and a few fill the wire.
        let each = number("gap_ns");
        assert!(each > 600_000.0, "{found}");
        (600.0..1100.0).contains(&per_byte)
            && each < 1_500_000.0
            && found["bottleneck"] == "wire"
            && number("knee") < 64.0
            && number("wire_used") > 0.85
    });
    assert!(is_found, "the lab's wire was never found");
    let _ = garland.run(&["lab", "down"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn lab_nodes_ping_over_their_wire_and_their_memory() {
    let scratch = Scratch::new("ping-lab");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "2"]).with_code(0);
    for transport in ["tcp", "shm"] {
        let arguments =
            ["ping", "lab:n[1-2]", "0", "64", "-n", "500", "--transport", transport, "--json"];
        let result = garland.run(&arguments).with_code(0).json();
        assert_eq!(result["pairs"][0]["points"].as_array().map(Vec::len), Some(6), "{transport}");
        assert_eq!(result["pairs"][0]["verdict"], "ok");
    }
    let nowhere = garland.run(&["ping", "--from", "lab:n9", "lab:n[1-2]"]).with_code(3);
    assert!(nowhere.err.contains("lab lab has no node n9"), "{}", nowhere.err);
    let _ = garland.run(&["lab", "down"]).with_code(0);
    scratch.assert_nothing_left();
}
