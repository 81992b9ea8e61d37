//! What the real tools make of the files is what the topology plans.

use garland_testkit::{Scratch, until};
use garland_topology::{NodeId, Topology};

use crate::net::daemons;
use crate::net::shape::Shape;
use crate::net::stage::{Stage, path_text};
use crate::net::truth::{Truth, assert_sources};

/// Makes the kernel settings, as a boot does.
const SETTINGS: &str = "f=/etc/sysctl.d/60-garland.conf; if [ -e $f ]; then sysctl -qp $f; fi";

/// The shapes and nodes that differ, without those that need bonding.
fn nodes() -> Vec<(Shape, NodeId)> {
    vec![
        (Shape::published(), 0),
        (Shape::published(), 1),
        (Shape::forwarded(), 0),
        (Shape::forwarded(), 2),
        (Shape::grid(""), 0),
        (Shape::grid("routes = 2\nselector = \"flow\""), 3),
    ]
}

/// Those that NetworkManager can have: it leaves out routes whose source another device has.
fn stars() -> impl Iterator<Item = (Shape, NodeId)> {
    nodes().into_iter().filter(|(shape, _)| shape.topology.name != "grid")
}

/// A machine with a node's NICs, and the files for it in their places, put there as docs/net.md
/// says.
fn placed<'a>(scratch: &'a Scratch, shape: &Shape, node: NodeId, format: &str) -> Stage<'a> {
    let stage = Stage::from_topology(scratch, &shape.topology, node);
    let path = shape.file(scratch);
    let name = shape.topology.nodes[node].name.as_str();
    let diff = ["net", "config", &path, "--node", name, "--format", format, "--diff"];
    std::fs::write(scratch.path("diff"), stage.run(&diff, 4)).expect("it can be written");
    stage.shell(&format!("patch -s -p1 -d / <{}", path_text(&scratch.path("diff"))));
    if format == "networkmanager" {
        stage.shell("chmod 600 /etc/NetworkManager/system-connections/*");
    }
    assert_eq!(stage.run(&diff, 0), "", "no file differs then");
    stage
}

#[track_caller]
fn assert_planned(stage: &Stage<'_>, topology: &Topology, node: NodeId) {
    assert_eq!(Truth::found(stage), Truth::planned(topology, node, true), "{}", topology.name);
    assert_sources(stage, topology, node);
    let forwards = stage.shell("cat /proc/sys/net/ipv4/ip_forward");
    assert_eq!(forwards.trim() == "1", topology.nodes[node].forwards, "{}", topology.name);
}

#[test]
fn ifup_makes_what_is_planned_and_ifdown_takes_it_away() {
    let scratch = Scratch::new("ifup");
    for (shape, node) in nodes() {
        let topology = &shape.topology;
        let stage = placed(&scratch, &shape, node, "ifupdown");
        stage.shell(SETTINGS);
        stage.shell("ifup -a");
        assert_planned(&stage, topology, node);
        stage.shell("ifdown -a");
        let left = Truth::found(&stage);
        assert!(left.addresses.is_empty() && left.routes.is_empty(), "{left:?}");
    }
}

#[test]
fn subflows_are_endpoints_of_the_kernel() {
    let shape = Shape::dual("subflow");
    let scratch = Scratch::new("subflows");
    let stage = placed(&scratch, &shape, 1, "ifupdown");
    stage.shell("ifup -a");
    assert_planned(&stage, &shape.topology, 1);
    assert_eq!(stage.shell("ip mptcp endpoint show").trim(), "10.89.0.11 id 1 signal dev eth1");
    let limits = stage.shell("ip mptcp limits show");
    assert!(limits.contains("add_addr_accepted 1 subflows 1"), "{limits}");
    stage.shell("ifdown -a");
    assert_eq!(stage.shell("ip mptcp endpoint show"), "");
}

#[test]
fn networkd_makes_what_is_planned() {
    let scratch = Scratch::new("networkd");
    for (shape, node) in nodes() {
        let topology = &shape.topology;
        let stage = placed(&scratch, &shape, node, "networkd");
        stage.shell(SETTINGS);
        let [daemon, _bus] = daemons::networkd(&stage);
        let wanted = Truth::planned(topology, node, true);
        until("networkd to make what is planned", || Truth::found(&stage) == wanted);
        assert_planned(&stage, topology, node);
        assert_accepted(&daemon.log());
    }
}

/// networkd says of what it doesn't understand that it ignores it, and goes on.
#[track_caller]
fn assert_accepted(log: &str) {
    for complaint in ["Unknown", "Invalid", "ignoring", "Failed"] {
        assert!(!log.contains(complaint), "{log}");
    }
}

/// A kernel may have no bonding; networkd says so when all of its files are understood.
#[test]
fn networkd_understands_bonds() {
    let scratch = Scratch::new("networkd-bond");
    for selector in ["packet", "flow"] {
        let stage = placed(&scratch, &Shape::dual(selector), 1, "networkd");
        let [daemon, _bus] = daemons::networkd(&stage);
        until("networkd to try the bond", || daemon.log().contains("bond0: "));
        assert_accepted(&daemon.log());
    }
}

#[test]
fn networkmanager_reads_all_keyfiles() {
    let scratch = Scratch::new("keyfiles");
    let bonds = ["packet", "flow"].map(|selector| (Shape::dual(selector), 1));
    for (shape, node) in stars().chain(bonds) {
        let topology = &shape.topology;
        let stage = placed(&scratch, &shape, node, "networkmanager");
        // Its offline parser prints what it has understood.
        let said = stage.try_shell(
            "for f in /etc/NetworkManager/system-connections/*; do \
             nmcli --offline connection modify connection.autoconnect yes <$f; done",
        );
        assert!(
            said.status.success() && said.stderr.is_empty(),
            "{}",
            garland_testkit::said(&said)
        );
        let understood = String::from_utf8_lossy(&said.stdout).into_owned();
        for (_, nic) in topology.nics_of(node) {
            assert!(understood.contains(&format!("interface-name={}\n", nic.name)), "{understood}");
            if let Some(address) = nic.address {
                assert!(understood.contains(&format!("={address}/")), "{understood}");
            }
        }
        for route in topology.routes.iter().filter(|route| route.node == node) {
            let times = understood.matches(&format!("={}/{}", route.to, route.prefix)).count();
            assert_eq!(times, route.hops.len(), "{understood}");
        }
    }
}

#[test]
fn networkmanager_makes_what_is_planned() {
    let scratch = Scratch::new("networkmanager");
    for (shape, node) in stars() {
        let stage = placed(&scratch, &shape, node, "networkmanager");
        stage.shell(SETTINGS);
        let _daemons = daemons::network_manager(&stage);
        let wanted = Truth::planned(&shape.topology, node, false);
        until("NetworkManager to make what is planned", || Truth::found(&stage) == wanted);
        assert_sources(&stage, &shape.topology, node);
    }
}
