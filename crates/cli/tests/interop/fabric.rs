//! `garland ping --transport fabric`: over the providers of libfabric that need no special NIC, and
//! what is said where something is missing.

use std::time::Duration;

use garland_testkit::{
    Garland, Process, RunOutput, Running, Scratch, await_some, fabric_helper, until,
};

use crate::garland_in;

/// `garland ping local[1-2] --transport fabric ARGUMENTS`, with the helper and with `variables`.
fn start(garland: &Garland<'_>, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
    let all = [&["ping", "local[1-2]", "--transport", "fabric"], arguments].concat();
    let mut command = garland.command(&all);
    command.env("GARLAND_FABRIC", fabric_helper()).envs(variables.iter().copied());
    Running::start(command)
}

fn ping(scratch: &Scratch, arguments: &[&str], variables: &[(&str, &str)]) -> RunOutput {
    start(&garland_in(scratch), arguments, variables).end()
}

/// The helpers of a test's agents.
fn helpers(scratch: &Scratch) -> Vec<Process> {
    let all = scratch.processes().into_iter();
    all.filter(|process| process.command.ends_with("garland-fabric")).collect()
}

/// Whether a helper's endpoint of the provider `shm` still takes memory.
fn has_shared_memory(pid: u32) -> bool {
    let files = std::fs::read_dir("/dev/shm").expect("shared memory is there").flatten();
    let prefix = format!("{pid}:");
    files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with(&prefix))
}

#[test]
fn every_kind_goes_by_every_provider_at_all_sizes() {
    let scratch = Scratch::new("fabric-kinds");
    for provider in ["tcp;ofi_rxm", "shm"] {
        for function in ["get", "put", "msg"] {
            let arguments = ["--provider", provider, "-f", function, "0", "65536"];
            let more = ["-b", "3", "-n", "20", "--time", "0.2", "--json"];
            let said = ping(&scratch, &[&arguments[..], &more].concat(), &[]).with_code(0);
            let result = said.json();
            let pair = &result["pairs"][0];
            assert_eq!(pair["fabric"]["provider"], provider, "{}", said.out);
            let points = pair["points"].as_array().cloned().unwrap_or_default();
            assert_eq!(points.len(), 16, "{provider} {function}: {}", said.out);
            for point in points {
                let [min, p50, max] =
                    ["min", "p50", "max"].map(|name| point["sojourn"][name].as_u64());
                assert!(min <= p50 && p50 <= max && max.is_some(), "{point}");
                assert!(point["count"].as_u64() > Some(0), "{point}");
            }
            // Over TCP no NIC serves a get; what shared memory does depends on the kernel's leave.
            if provider != "shm" {
                assert_eq!(result["emulated"], function != "msg", "{}", said.out);
            }
        }
    }
    assert_eq!(helpers(&scratch), [], "they end with what they were started for");
}

#[test]
fn without_a_name_a_provider_that_both_have_is_taken_and_rates_are_kept() {
    let scratch = Scratch::new("fabric-any");
    let arguments = ["-f", "msg", "--per-second", "500", "--time", "0.5s", "--wait", "poll"];
    let said = ping(&scratch, &arguments, &[]).with_code(0);
    assert!(said.out.contains("of libfabric ") && !said.out.contains("shm"), "{}", said.out);
    assert!(said.out.contains("times begin at the scheduled start of each"), "{}", said.out);
    let said =
        ping(&scratch, &["--sweep", "--time", "0.05", "--provider", "shm"], &[]).with_code(0);
    assert!(said.out.contains("LogGP   L ") && said.out.contains("bottleneck: "), "{}", said.out);
}

#[test]
fn what_is_missing_is_named_with_what_is_there() {
    let scratch = Scratch::new("fabric-missing");
    let said = ping(&scratch, &[], &[("GARLAND_LIBFABRIC", "/nowhere/lib.so")]).with_code(3);
    assert!(said.out.contains("loading libfabric: /nowhere/lib.so"), "{}", said.out);
    assert!(said.out.contains("libfabric1"), "{}", said.out);
    let said = ping(&scratch, &[], &[("GARLAND_LIBFABRIC", "libc.so.6")]).with_code(3);
    assert!(said.out.contains("libc.so.6 is not libfabric"), "{}", said.out);
    let said = ping(&scratch, &[], &[("GARLAND_FABRIC", "/nowhere/helper")]).with_code(3);
    assert!(said.out.contains("/nowhere/helper, which is not a file"), "{}", said.out);
    let said = ping(&scratch, &[], &[("GARLAND_FABRIC", "/bin/true")]).with_code(3);
    assert!(said.out.contains("/bin/true ended unexpectedly"), "{}", said.out);
    let said = ping(&scratch, &[], &[("GARLAND_FABRIC", "/bin/pwd")]).with_code(3);
    assert!(said.out.contains("garland-fabric: a message of "), "{}", said.out);
    let said = ping(&scratch, &["--provider", "nothing"], &[]).with_code(3);
    assert!(
        said.out.contains("no suitable provider nothing on this node; suitable ones: "),
        "{}",
        said.out
    );
    assert!(said.out.contains("shm"), "{}", said.out);
    let said = ping(&scratch, &["--provider", "shm", "-b", "4096", "16MiB"], &[]).with_code(3);
    assert!(said.out.contains("bytes in flight"), "{}", said.out);
}

#[test]
fn without_the_helper_it_is_said_where_it_was_looked_for() {
    let scratch = Scratch::new("fabric-helper");
    let alone = scratch.folder().join("garland");
    std::fs::copy(env!("CARGO_BIN_EXE_garland"), &alone).unwrap();
    let garland = Garland::new(alone, &scratch);
    let said = garland.run(&["ping", "local[1-2]", "--transport", "fabric"]).with_code(3);
    let folder = scratch.folder().canonicalize().unwrap();
    let wanted = format!("no garland-fabric on this node (in {}, in PATH", folder.display());
    assert!(said.out.contains(&wanted) && said.out.contains("tcp, shm"), "{}", said.out);
}

#[test]
fn words_that_make_no_sense_are_refused() {
    let scratch = Scratch::new("fabric-words");
    let refused = |arguments: &[&str], wanted: &str| {
        let all = [&["ping", "local[1-2]"], arguments].concat();
        let said = garland_in(&scratch).run(&all).with_code(2);
        assert!(said.err.contains(wanted), "{all:?}: {}", said.err);
    };
    refused(&["--provider", "shm"], "add --transport fabric");
    refused(
        &["--transport", "fabric", "--provider", "a b"],
        "is not the name of a libfabric provider",
    );
}

#[test]
fn a_helper_that_is_killed_is_named_and_leaves_nothing() {
    let scratch = Scratch::new("fabric-death");
    for provider in ["tcp;ofi_rxm", "shm"] {
        for victim in [0, 1] {
            let garland = garland_in(&scratch);
            let arguments = ["--provider", provider, "-n", "100000000", "--time", "30"];
            let running = start(&garland, &arguments, &[]);
            let both = await_some("two helpers", || {
                Some(helpers(&scratch)).filter(|helpers| helpers.len() == 2)
            });
            // In the middle of a round, mostly; at any other time it must be named all the same.
            std::thread::sleep(Duration::from_millis(700));
            both[victim].kill();
            let said = running.end();
            assert_eq!(said.code, 3, "{}{}", said.out, said.err);
            assert!(
                said.out.contains("garland-fabric ended unexpectedly: signal: 9"),
                "{}",
                said.out
            );
            until("helpers are gone", || helpers(&scratch).is_empty());
            assert!(!both.iter().any(|helper| has_shared_memory(helper.pid)), "{provider}");
        }
    }
}

#[test]
fn helpers_end_with_their_agents() {
    let scratch = Scratch::new("fabric-agents");
    let garland = garland_in(&scratch);
    let roots = scratch.root("");
    let folder = roots.to_string_lossy().into_owned();
    let arguments = ["--provider", "shm", "-n", "100000000", "--time", "30"];
    let running = start(&garland, &[&arguments[..], &["--local-root", &folder]].concat(), &[]);
    let both =
        await_some("two helpers", || Some(helpers(&scratch)).filter(|helpers| helpers.len() == 2));
    std::thread::sleep(Duration::from_millis(500));
    garland.agent("local2").kill();
    let said = running.end();
    assert!(said.out.contains("failed  local2: "), "{}", said.out);
    until("helpers are gone", || helpers(&scratch).is_empty());
    assert!(!both.iter().any(|helper| has_shared_memory(helper.pid)));
}
