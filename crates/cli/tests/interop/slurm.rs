//! Copies inside a Slurm allocation of real daemons.

use std::fs;
use std::path::Path;
use std::process::Output;

use garland_testkit::{Slurm, said};

const GARLAND: &str = env!("CARGO_BIN_EXE_garland");

fn cluster(nodes: u8) -> Slurm {
    let folder = Path::new(GARLAND).parent().expect("a binary lies in a folder");
    let slurm = Slurm::start(nodes, folder).expect("a Slurm cluster");
    let bytes: Vec<u8> =
        (0..3_000_001_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(slurm.machines.seen(0, "/mnt/head/source"), bytes).expect("room for the source");
    slurm
}

fn run(slurm: &Slurm, before: &[&str], arguments: &[&str]) -> Output {
    let mut command = slurm.machines.command(0, "env");
    command
        .args(["HOME=/mnt/home", "GARLAND_STATE=/mnt/head/state"])
        .arg(format!("SLURM_CONF={}", Slurm::CONF))
        .args(before)
        .args(["timeout", "--signal=KILL", "120", GARLAND])
        .args(arguments);
    command.output().expect("it starts")
}

fn assert_whole(slurm: &Slurm, node: u8, path: &str) {
    let source = fs::read(slurm.machines.seen(0, "/mnt/head/source")).expect("the source");
    let copy = fs::read(slurm.machines.seen(node, path)).unwrap_or_default();
    assert!(copy == source, "n{node}:{path} isn't the source");
}

#[test]
fn an_allocations_nodes_get_the_file() {
    let slurm = cluster(3);
    let salloc = ["salloc", "--quiet", "--nodes=3"];
    for path in ["/mnt/home/copy", "/mnt/home/again"] {
        let output = run(&slurm, &salloc, &["cp", "/mnt/head/source", &format!("@slurm:{path}")]);
        assert!(output.status.success(), "{}", said(&output));
        assert!(said(&output).contains("to 3 of 3 nodes"), "{}", said(&output));
        for node in 1..=3 {
            assert_whole(&slurm, node, path);
            let kept = fs::read_dir(slurm.machines.seen(node, "/mnt/home/.cache/garland"));
            assert_eq!(kept.expect("the binary's place").count(), 1);
        }
    }
    // Two of its three nodes, in another order than Slurm's.
    let output = run(&slurm, &salloc, &["cp", "/mnt/head/source", "n3,n1:/mnt/home/two"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_whole(&slurm, 1, "/mnt/home/two");
    assert_whole(&slurm, 3, "/mnt/home/two");
    assert!(!slurm.machines.seen(2, "/mnt/home/two").exists());
    let left = slurm.machines.processes().expect("ps");
    assert!(!left.iter().any(|line| line.contains("agent --controller")), "{left:#?}");
}

#[test]
fn a_copy_to_standard_output_has_the_files_bytes_and_no_others() {
    let slurm = cluster(2);
    let salloc = ["salloc", "--quiet", "--nodes=2"];
    for node in ["n1", "n2"] {
        let output = run(&slurm, &salloc, &["cp", "/mnt/head/source", &format!("{node}:-")]);
        let source = fs::read(slurm.machines.seen(0, "/mnt/head/source")).expect("the source");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert!(output.stdout == source, "{} bytes came: {errors}", output.stdout.len());
    }
}

#[test]
fn outside_of_an_allocation_it_says_so() {
    let slurm = cluster(1);
    let output = run(
        &slurm,
        &["env"],
        &["cp", "/mnt/head/source", "n1:/mnt/home/copy", "--launcher", "slurm"],
    );
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(
        said(&output).contains("failed  n1: not inside a Slurm allocation"),
        "{}",
        said(&output)
    );
}

/// Has n1 run `instead` in place of the script that becomes the agent.
fn hostile(slurm: &Slurm, instead: &str) {
    let shell = format!(
        "#!/bin/bash\nif [ \"$SLURMD_NODENAME\" = n1 ] && [ \"$2\" != \"${{2#*garland}}\" ]; then\n\
         {instead}; fi\nexec /bin/bash --posix \"$@\"\n"
    );
    fs::write(slurm.machines.seen(1, "/mnt/home/sh"), shell).expect("a script");
    let place = "chmod +x /mnt/home/sh && mount --bind /mnt/home/sh /bin/sh";
    slurm.machines.shell(1, place).expect("it takes the place of the shell");
}

/// Copies to three nodes, of which n1 fails for the reason `why`.
fn copied_but_to_one(slurm: &Slurm, why: &str) {
    let salloc = ["salloc", "--quiet", "--nodes=3"];
    let output = run(slurm, &salloc, &["cp", "/mnt/head/source", "@slurm:/mnt/home/copy"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains(why), "{text}");
    assert_whole(slurm, 2, "/mnt/home/copy");
    assert_whole(slurm, 3, "/mnt/home/copy");
}

#[test]
fn a_node_of_a_step_speaks_for_no_other_one() {
    let slurm = cluster(3);
    hostile(&slurm, "echo AT n2 -; echo REFUSED by another node; exec sleep 60");
    let why = "failed  n1: Slurm started task 0 of the step on it, which says that it runs on n2";
    copied_but_to_one(&slurm, why);
}

#[test]
fn a_silent_node_of_a_step_takes_neither_the_program_nor_the_copy_from_others() {
    let slurm = cluster(3);
    // It reads nothing, either.
    hostile(&slurm, "echo AT n1 -; exec sleep 100");
    copied_but_to_one(&slurm, "failed  n1: its agent did not start within ");
}

#[test]
fn a_node_of_a_step_that_asks_for_the_program_and_does_not_read_it_keeps_it_from_nobody() {
    let slurm = cluster(3);
    hostile(&slurm, "echo AT n1 -; echo NEED $(uname -m) -; exec sleep 100");
    copied_but_to_one(&slurm, "failed  n1: it does not read the program");
}
