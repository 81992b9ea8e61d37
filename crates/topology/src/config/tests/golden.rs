//! The files of all formats for the shapes that differ most, for the head and for a node.

use super::super::super::Selector;
use super::super::super::shapes::{Basis, Between, Joined, Mesh, Segment, bonded, mesh, star};
use super::super::super::{NodeId, Topology};
use super::super::{Format, NicNames};
use super::files;

/// The star of 2004: a server and three nodes.
fn star_of_2004() -> Topology {
    let nodes = ["srv", "n2", "n3", "n4"].map(str::to_owned).to_vec();
    star(&Basis::named("p2p-star", nodes), Between::Isolated)
}

fn forwarded() -> Topology {
    star(&Basis::numbered("star", 2), Between::Forwarded)
}

fn dual_net(selector: Selector) -> Topology {
    bonded(&Basis::numbered("dual-net", 3), 2, Segment::Switch, selector)
}

/// A mesh of two rows and two columns, which has all kinds of routes.
fn small_mesh(joined: Joined, both: Option<Selector>) -> Topology {
    let measures = Mesh { columns: 2, segment: Segment::Switch, joined, both };
    mesh(&Basis::numbered("mesh", 3), &measures)
}

/// Returns all files of a node, or the error; the names of all nodes only once.
fn text(topology: &Topology, node: NodeId, format: Format) -> String {
    match files(topology, node, format, &NicNames::new()) {
        Err(fault) => format!("refused: {fault}\n"),
        Ok(written) => {
            let own = written.iter().filter(|file| {
                node == 0 || !["/etc/hosts", "/etc/garland/nodes.map"].contains(&file.path.as_str())
            });
            own.map(|file| format!("--- {} {:o}\n{}", file.path, file.mode, file.text)).collect()
        }
    }
}

/// The head, and the node with the longest files.
fn both(topology: &Topology, node: NodeId, format: Format) -> String {
    let head = text(topology, 0, format);
    format!(
        "===== {}\n{head}===== {}\n{}",
        topology.nodes[0].name,
        topology.nodes[node].name,
        text(topology, node, format)
    )
}

#[test]
fn all_formats_of_all_shapes() {
    let shapes = [
        ("star", star_of_2004(), 1),
        ("forwarded", forwarded(), 2),
        ("packets", dual_net(Selector::Packet), 2),
        ("flows", dual_net(Selector::Flow), 2),
        ("subflows", dual_net(Selector::Subflow), 2),
        ("mesh", small_mesh(Joined::Routed, None), 3),
        ("two-routes", small_mesh(Joined::Routed, Some(Selector::Flow)), 3),
        ("switched", small_mesh(Joined::Switched, None), 3),
    ];
    for (name, topology, node) in shapes {
        for format in Format::ALL {
            let name = format!("{name}_{}", format.name());
            insta::assert_snapshot!(name, both(&topology, node, format));
        }
    }
}

#[test]
fn the_star_says_what_the_published_one_said() {
    let topology = star_of_2004();
    let written = text(&topology, 0, Format::Ifupdown);
    // As published: the server's address on every NIC, and for each NIC
    // `up route add -host 192.168.1.2 dev eth0`.
    let stanza = |nic: u8| {
        format!(
            "auto eth{nic}\niface eth{nic} inet static\n    address 10.88.0.10/32\n    \
             pointopoint 10.88.0.{}\n    mtu 1500\n",
            11 + nic
        )
    };
    for nic in 0..3 {
        assert!(written.contains(&stanza(nic)), "{written}");
    }
    assert_eq!(written.matches("iface").count(), 3);
}
