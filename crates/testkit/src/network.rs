//! Topologies that a seed repeats.

use std::fmt::Write as _;

use crate::Chance;

/// Returns the text of a topology file with 3 to 13 nodes: a hub, a ring, leaves and spines, or
/// switches of different rates in a tree, joined by slower wires. Some have a slow disk.
#[must_use]
pub fn random_network(chance: &mut Chance) -> String {
    let nodes = 2 + chance.below(11);
    let shape = match chance.below(6) {
        0 => format!("shape = \"hub\"\nnodes = {nodes}\nrate = \"100mbit\"\n"),
        1 => format!("shape = \"ring\"\nnodes = {}\nrate = \"100mbit\"\n", nodes.max(3)),
        2 => format!(
            "shape = \"leaf-spine\"\nnodes = {nodes}\nleaves = {}\nspines = {}\nrate = \"100mbit\"\n\
             uplink = \"{}mbit\"\n",
            2 + chance.below(2),
            1 + chance.below(2),
            10 + chance.below(150)
        ),
        _ => switches(nodes, chance),
    };
    let mut text = format!("version = 1\n[topology]\n{shape}");
    if chance.below(3) == 0 {
        let disk = 1 + chance.below(20);
        let _ = write!(text, "[[topology.node]]\nnames = \"n1\"\ndisk = \"{disk}MB/s\"\n");
    }
    text
}

/// Switches with wires of different rates in a random tree, and nodes at random ones.
fn switches(nodes: u64, chance: &mut Chance) -> String {
    let switches = 1 + chance.below(4);
    let mut text = format!("shape = \"explicit\"\nnodes = \"n[0-{nodes}]\"\n");
    let mut add = |kind: &str, keys: String| {
        let _ = write!(text, "[[topology.{kind}]]\n{}\n", keys.replace(", ", "\n"));
    };
    for switch in 0..switches {
        let rate = chance.pick(&[100, 100, 50, 200]);
        add("medium", format!("name = \"s{switch}\", kind = \"switch\", rate = \"{rate}mbit\""));
    }
    for switch in 1..switches {
        let to = chance.below(switch);
        let rate = 10 + chance.below(100);
        add("uplink", format!("from = \"s{switch}\", to = \"s{to}\", rate = \"{rate}mbit\""));
    }
    for node in 0..=nodes {
        let at = chance.below(switches);
        let last = node + 10;
        let address = format!("10.88.0.{last}/24");
        add("nic", format!("nodes = \"n{node}\", medium = \"s{at}\", address = \"{address}\""));
    }
    text
}
