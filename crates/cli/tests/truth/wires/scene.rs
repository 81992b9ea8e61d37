//! A lab with a fault that is put in from outside of the program, and what `garland wires` says of
//! it.

use std::process::{Command, Stdio};

use garland_core::units::Rate;
use garland_lab::device;
use garland_lab::fault::LinkDirection;
use garland_lab::slow::{slow, slow_to};
use garland_testkit::{Garland, Scratch, TestLab};
use serde_json::Value;

use super::case::{Case, Fault, RATE_MBIT};

/// Builds the lab of a case, and returns what is found in it, with the exit code.
pub fn measured(case: &Case, program: &std::path::Path) -> (Value, i32) {
    let scratch = Scratch::in_memory("truth-wires");
    let lab = TestLab::with_topology(Garland::new(program, &scratch), &scratch, &topology(case));
    spoil(case, &lab);
    let nodes = format!("lab:n[1-{}]", case.nodes);
    let said = lab.garland.run(&["wires", "--json", &nodes]);
    lab.down();
    (said.json(), said.code)
}

fn topology(case: &Case) -> String {
    let nodes = case.nodes;
    if case.trunk.is_none() {
        return format!(
            "version = 1\n[topology]\nshape = \"switch\"\nnodes = \"n[0-{nodes}]\"\n\
             rate = \"{RATE_MBIT}mbit\"\n"
        );
    }
    let mut text = format!(
        "version = 1\n[topology]\nshape = \"explicit\"\nnodes = \"n[0-{nodes}]\"\n\
         rate = \"{RATE_MBIT}mbit\"\n\
         [[topology.medium]]\nname = \"near\"\nkind = \"switch\"\n\
         [[topology.medium]]\nname = \"far\"\nkind = \"switch\"\n\
         [[topology.uplink]]\nfrom = \"near\"\nto = \"far\"\n"
    );
    for node in 0..=nodes {
        let medium = if node == 0 || case.is_near(node) { "near" } else { "far" };
        let address = 10 + node;
        text += &format!(
            "[[topology.nic]]\nnodes = \"n{node}\"\nmedium = \"{medium}\"\n\
             address = \"10.77.0.{address}/24\"\n"
        );
    }
    text
}

/// Puts the fault in.
fn spoil(case: &Case, lab: &TestLab<'_>) {
    let rate = |percent: u64| Rate::from_bits_per_second(RATE_MBIT * percent * 10_000);
    let slowed = |node: u32, ways: &[LinkDirection], percent: u64| {
        for way in ways {
            slow(&lab.lab, &format!("n{node}"), *way, rate(percent)).expect("it is a node");
        }
    };
    let [near, far] = device::uplink(0);
    match case.fault {
        Fault::None => {}
        Fault::Slow(node, share) => slowed(node, &[LinkDirection::In, LinkDirection::Out], share),
        Fault::SlowOut(node, share) => slowed(node, &[LinkDirection::Out], share),
        Fault::SlowIn(node, share) => slowed(node, &[LinkDirection::In], share),
        Fault::SlowPair(one, other, share) => {
            for (from, to) in [(one, other), (other, one)] {
                let [from, to] = [from, to].map(|node| format!("n{node}"));
                slow_to(&lab.lab, &from, &to, rate(share)).expect("both are nodes");
            }
        }
        Fault::Loss(node, lost) => {
            lose_from(lab, node, lost);
            lose_to(lab, node, lost);
        }
        Fault::LossOut(node, lost) => lose_from(lab, node, lost),
        Fault::LossIn(node, lost) => lose_to(lab, node, lost),
        Fault::Trunk(share) => [near, far].iter().for_each(|port| shape(lab, port, rate(share))),
        Fault::TrunkOneWay(share) => shape(lab, &near, rate(share)),
    }
}

/// Drops frames that a node sends, at the switch: a sender notices what is dropped on its own NIC.
fn lose_from(lab: &TestLab<'_>, node: u32, lost: u64) {
    let topology = &lab.lab.spec().topology;
    let id = topology.nodes.iter().position(|it| it.name == format!("n{node}"));
    let nics = topology.nics_of(id.expect("it is a node"));
    nics.for_each(|(nic, _)| run(switches(lab, "nft").arg(drops(&device::port(nic), lost))));
}

/// Drops frames that are sent to a node, at its NIC.
fn lose_to(lab: &TestLab<'_>, node: u32, lost: u64) {
    let mut command = lab.lab.command(&format!("n{node}"), "nft").expect("it is a node");
    run(command.arg(drops("eth0", lost)));
}

/// Returns the rules that drop so many of a thousand full frames that come to a device.
fn drops(device: &str, lost: u64) -> String {
    format!(
        "table netdev truth {{\nchain drops_{device} {{\n\
         type filter hook ingress device \"{device}\" priority -10; policy accept;\n\
         meta length > 1000 numgen random mod 1000 < {lost} drop\n}}\n}}\n"
    )
}

/// Limits the rate of a port between the switches.
fn shape(lab: &TestLab<'_>, port: &str, rate: Rate) {
    let bits = rate.bits_per_second();
    let burst = (bits / 8000).max(3076);
    let words = format!(
        "qdisc replace dev {port} root tbf rate {bits}bit burst {burst} limit 262144 mpu 84 overhead 24"
    );
    run(switches(lab, "tc").args(words.split(' ')));
}

/// Returns a command in the network namespace of the lab's switches.
fn switches(lab: &TestLab<'_>, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["-t", &lab.lab.keeper().pid.to_string(), "-n", program]);
    command
}

fn run(command: &mut Command) {
    let status = command.stdin(Stdio::null()).status().expect("the program is installed");
    assert!(status.success(), "{command:?}: {status}");
}
