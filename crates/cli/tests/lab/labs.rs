//! `garland lab` with topologies: what is built, run beside it, refused, and always torn down.

use garland_testkit::{Garland, Scratch, until};

use crate::garland_in;

/// A server between three nodes, each on a wire of its own.
const STAR: &str = "version = 1\n[topology]\nshape = \"star\"\nnodes = \"srv,a,b,c-1\"\n";

/// The path of the star's file.
fn star_file(scratch: &Scratch) -> String {
    let path = scratch.folder().join("star.toml");
    std::fs::write(&path, STAR).unwrap();
    path.display().to_string()
}

#[track_caller]
fn nothing_is_up(garland: &Garland<'_>) {
    let said = garland.run(&["lab", "status"]).with_code(0);
    assert!(said.out.starts_with("no lab is up"), "{}", said.out);
}

#[test]
fn a_command_reaches_the_nodes_and_its_code_comes_back() {
    let scratch = Scratch::new("lab-run");
    let garland = garland_in(&scratch);
    let star = star_file(&scratch);
    let own = env!("CARGO_BIN_EXE_garland");
    let reach =
        ["lab", "run", &star, "--", own, "exec", "--fold", "lab:a,lab:c-1", "--", "hostname"];
    let said = garland.run(&reach).with_code(0);
    // Each has said its own name, which is folded.
    assert_eq!(said.out, "lab:a,lab:c-1: <node>\n");
    assert!(said.err.contains("the head srv and lab:a,b,c-1"), "{}", said.err);
    let code = garland.run(&["lab", "run", &star, "--", "sh", "-c", "echo out; exit 7"]);
    assert_eq!(code.with_code(7).out, "out\n");
    let none = garland.run(&["lab", "run", &star, "--", "no-such-program"]).with_code(3);
    assert!(none.err.contains("cannot start no-such-program"), "{}", none.err);
    nothing_is_up(&garland);
}

#[test]
fn a_delay_is_counted_and_refused_where_it_cannot_be_held() {
    let scratch = Scratch::new("lab-delay");
    let garland = garland_in(&scratch);
    let own = env!("CARGO_BIN_EXE_garland");
    let far = ["lab", "run", "--nodes", "2", "--rate", "100mbit", "--delay", "20ms", "--"];
    // Inside the lab its delay line has counted what went over the wires.
    let script = format!("'{own}' exec lab:n1 -- true && '{own}' lab status");
    let said = garland.run(&[&far[..], &["sh", "-c", &script]].concat()).with_code(0);
    assert!(said.out.contains("switch: delay 20.0 ms, one way"), "{}", said.out);
    assert!(said.out.contains(" 0 lost, the worst late by "), "{}", said.out);
    // A kernel with netem holds any rate.
    let fast = ["lab", "up", "--nodes", "20", "--rate", "10gbit", "--delay", "20ms"];
    let refused = garland.run(&fast).with_code(3);
    assert!(refused.err.contains("cannot delay the frames of this lab"), "{}", refused.err);
    let unlimited = garland.run(&["lab", "up", "--nodes", "2", "--delay", "20ms"]).with_code(2);
    assert!(unlimited.err.contains("--rate"), "{}", unlimited.err);
    nothing_is_up(&garland);
}

#[test]
fn a_file_is_striped_over_a_wire_to_each_node_and_comes_back() {
    let scratch = Scratch::new("lab-stripe");
    let garland = garland_in(&scratch);
    let star = star_file(&scratch);
    let from = scratch.folder().join("from");
    garland_testkit::random_file(&from, 3_000_001, 7);
    let own = env!("CARGO_BIN_EXE_garland");
    // By their names, once there and twice back: as stripes, and each node's own file.
    let script = format!(
        "set -e; '{own}' cp --stripe=64KiB from lab:a,lab:b,lab:c-1:/d/ \
         && '{own}' cp --stripe lab:c-1,lab:a,lab:b:/d/from back && cmp from back \
         && '{own}' cp --rails 2 from lab:a,lab:b:/whole \
         && '{own}' cp lab:a,lab:b:/whole all && cmp from all/a/whole && cmp from all/b/whole"
    );
    let said = garland.run(&["lab", "run", &star, "--", "sh", "-c", &script]).with_code(0);
    assert!(said.out.contains("2.86 MiB from 3 of 3 nodes in "), "{}", said.out);
    nothing_is_up(&garland);
}

#[test]
fn a_request_to_end_takes_the_lab_down() {
    let scratch = Scratch::new("lab-run-ends");
    let garland = garland_in(&scratch);
    let star = star_file(&scratch);
    let sign = scratch.folder().join("running").display().to_string();
    let script = format!("touch {sign}; exec sleep 60");
    let mut command = garland.command(&["lab", "run", &star, "--", "sh", "-c", &script]);
    let mut running = command.spawn().unwrap();
    while !std::path::Path::new(&sign).exists() {
        assert!(running.try_wait().unwrap().is_none(), "it ended early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let process = garland_sys::identity::signal(running.id(), garland_sys::identity::Signal::TERM);
    process.unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(143));
    nothing_is_up(&garland);
}

#[test]
fn a_request_to_end_ends_the_command_on_a_node() {
    let scratch = Scratch::new("lab-exec-ends");
    let garland = garland_in(&scratch);
    let star = star_file(&scratch);
    let own = env!("CARGO_BIN_EXE_garland");
    let sign = scratch.folder().join("running").display().to_string();
    let on_node =
        format!("trap 'rm {sign}; exit 7' TERM; touch {sign}; while :; do sleep 0.01; done");
    let script = format!(
        "'{own}' lab exec a -- sh -c \"{on_node}\" & command=$!
         until test -e {sign}; do sleep 0.01; done
         kill $command; wait $command; echo $?; test ! -e {sign}"
    );
    let said = garland.run(&["lab", "run", &star, "--", "sh", "-c", &script]).with_code(0);
    assert!(said.out.ends_with("7\n"), "{}", said.out);
    nothing_is_up(&garland);
}

#[test]
fn a_killed_run_takes_its_lab_and_its_command_along() {
    let scratch = Scratch::new("lab-run-killed");
    let garland = garland_in(&scratch);
    let star = star_file(&scratch);
    let roots = scratch.folder().join("roots");
    std::fs::create_dir(&roots).unwrap();
    let sign = scratch.folder().join("running").display().to_string();
    let script = format!("trap 'rm {sign}; exit' TERM; touch {sign}; while :; do sleep 0.01; done");
    let place = roots.display().to_string();
    let words = ["lab", "run", &star, "--roots", &place, "--", "sh", "-c", &script];
    let mut running = garland.command(&words).spawn().unwrap();
    let runs = || std::path::Path::new(&sign).exists();
    until("the command runs", || {
        assert!(running.try_wait().unwrap().is_none(), "it ended early");
        runs()
    });
    running.kill().unwrap();
    running.wait().unwrap();
    until("the command has been asked to end", || !runs());
    until("the nodes' folders are gone", || std::fs::read_dir(&roots).unwrap().count() == 0);
    scratch.assert_nobody_left();
    assert_eq!(garland.run(&["lab", "down"]).with_code(0).out, "lab was not up\n");
    nothing_is_up(&garland);
}

#[test]
fn topologies_are_checked_before_anything_is_built() {
    let scratch = Scratch::new("lab-refused");
    let garland = garland_in(&scratch);
    let with = |text: &str| {
        let path = scratch.folder().join("wrong.toml");
        std::fs::write(&path, text).unwrap();
        let said = garland.run(&["lab", "up", &path.display().to_string()]).with_code(2);
        said.err.clone()
    };
    assert!(with("version = 1\n[topology]\nshape = \"hub\"\nnodes = 2\n").contains("rate"));
    let fast = "version = 1\n[topology]\nshape = \"switch\"\nnodes = 2\nrate = \"400gbit\"\n";
    assert!(with(fast).contains("the maximum is 25 Gbit/s"));
    assert!(with(&STAR.replace("star", "stra")).contains("star"), "the nearest word is named");
    assert!(garland.run(&["lab", "up", "nowhere.toml"]).with_code(2).err.contains("nowhere.toml"));
    assert!(garland.run(&["lab", "up"]).with_code(2).err.contains("--nodes"));
    nothing_is_up(&garland);
}

#[test]
fn the_steps_are_printed() {
    let scratch = Scratch::new("lab-steps");
    let garland = garland_in(&scratch);
    let star = star_file(&scratch);
    let said = garland.run(&["lab", "up", &star, "--dry-run"]).with_code(0);
    assert!(said.out.contains("ip -n srv addr add 10.88.0.10 peer 10.88.0.13/32 dev eth2"));
    let scenario = garland.run(&["lab", "up", "dolly-2005", "--dry-run"]).with_code(0);
    assert!(scenario.out.contains("ip netns add n20"), "{}", scenario.out);
    nothing_is_up(&garland);
}
