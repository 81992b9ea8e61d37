//! What the real tools make of the files is what the topology plans.

use garland_core::cluster::topology::shapes::{
    Basis, Between, Joined, Mesh, Segment, bonded, mesh, star,
};
use garland_core::cluster::topology::{NodeId, Selector, Topology};
use garland_testkit::{Scratch, until};

use crate::stage::{Stage, file, path_text};
use crate::truth::{Truth, assert_sources};

const NETWORKD: &str = "/lib/systemd/systemd-networkd";

fn grid(both: Option<Selector>) -> Topology {
    let measures = Mesh { columns: 2, segment: Segment::Switch, joined: Joined::Routed, both };
    mesh(&Basis::numbered("grid", 3), &measures)
}

fn dual(selector: Selector) -> Topology {
    bonded(&Basis::numbered("dual", 2), 2, Segment::Switch, selector)
}

/// The shapes and nodes that differ, without those that need bonding.
fn nodes() -> Vec<(Topology, NodeId)> {
    let named = ["srv", "n2", "n3", "n4"].map(str::to_owned).to_vec();
    let published = star(&Basis::named("published", named), Between::Isolated);
    let forwarded = star(&Basis::numbered("forwarded", 2), Between::Forwarded);
    vec![
        (published.clone(), 0),
        (published, 1),
        (forwarded.clone(), 0),
        (forwarded, 2),
        (grid(None), 0),
        (grid(Some(Selector::Flow)), 3),
    ]
}

/// The files of a node below the machine's root.
fn place(stage: &Stage<'_>, topology: &Topology, node: NodeId, format: &str) {
    let path = file(stage.scratch, topology);
    let root = path_text(&stage.seen("/"));
    let name = topology.nodes[node].name.as_str();
    stage.run(
        &["net", "config", &path, "--node", name, "--format", format, "--install", "--root", &root],
        0,
    );
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
    for (topology, node) in nodes() {
        let stage = Stage::of(&scratch, &topology, node);
        place(&stage, &topology, node, "ifupdown");
        stage.shell(
            "f=/etc/sysctl.d/60-garland.conf; if [ -e $f ]; then sysctl -qp $f; fi; ifup -a",
        );
        assert_planned(&stage, &topology, node);
        stage.shell("ifdown -a");
        let left = Truth::found(&stage);
        assert!(left.addresses.is_empty() && left.routes.is_empty(), "{left:?}");
    }
}

#[test]
fn the_script_makes_what_is_planned_and_may_run_again() {
    let scratch = Scratch::new("script");
    for (topology, node) in nodes() {
        let stage = Stage::of(&scratch, &topology, node);
        place(&stage, &topology, node, "iproute2");
        for _ in 0..2 {
            stage.shell("/etc/garland/network.sh");
            assert_planned(&stage, &topology, node);
        }
    }
}

#[test]
fn subflows_are_endpoints_of_the_kernel() {
    let topology = dual(Selector::Subflow);
    let scratch = Scratch::new("subflows");
    for (format, apply) in [("ifupdown", "ifup -a"), ("iproute2", "/etc/garland/network.sh")] {
        let stage = Stage::of(&scratch, &topology, 1);
        place(&stage, &topology, 1, format);
        stage.shell(apply);
        assert_planned(&stage, &topology, 1);
        assert_eq!(stage.shell("ip mptcp endpoint show").trim(), "10.89.0.11 id 1 signal dev eth1");
        let limits = stage.shell("ip mptcp limits show");
        assert!(limits.contains("add_addr_accepted 1 subflows 1"), "{limits}");
        if format == "ifupdown" {
            stage.shell("ifdown -a");
            assert_eq!(stage.shell("ip mptcp endpoint show"), "");
        }
    }
}

#[test]
fn networkd_makes_what_is_planned() {
    let scratch = Scratch::new("networkd");
    for (topology, node) in nodes() {
        let stage = Stage::of(&scratch, &topology, node);
        place(&stage, &topology, node, "networkd");
        stage.shell(
            "f=/etc/sysctl.d/60-garland.conf; if [ -e $f ]; then sysctl -qp $f; fi; \
             mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp; \
             chown -R systemd-network: /run/systemd/netif",
        );
        let daemon = stage.daemon(&[NETWORKD], "test -e /run/systemd/netif/state");
        let planned = Truth::planned(&topology, node, true);
        until("networkd to make what is planned", || Truth::found(&stage) == planned);
        assert_planned(&stage, &topology, node);
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
    for selector in [Selector::Packet, Selector::Flow] {
        let topology = dual(selector);
        let stage = Stage::of(&scratch, &topology, 1);
        place(&stage, &topology, 1, "networkd");
        stage.shell(
            "mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp; \
             chown -R systemd-network: /run/systemd/netif",
        );
        let daemon = stage.daemon(&[NETWORKD], "test -e /run/systemd/netif/state");
        until("networkd to try the bond", || daemon.log().contains("bond0: "));
        assert_accepted(&daemon.log());
    }
}

#[test]
fn netplan_accepts_all_shapes_and_means_the_same() {
    let scratch = Scratch::new("netplan");
    let bonds = [Selector::Packet, Selector::Flow].map(|selector| (dual(selector), 1));
    let single = nodes().into_iter().filter(|(topology, node)| {
        let of_node = |hops: usize| hops > 1;
        !topology.routes.iter().any(|route| route.node == *node && of_node(route.hops.len()))
    });
    for (topology, node) in single.chain(bonds) {
        let stage = Stage::of(&scratch, &topology, node);
        place(&stage, &topology, node, "netplan");
        let said = stage.try_shell("netplan generate");
        assert!(
            said.status.success() && said.stderr.is_empty(),
            "{}",
            garland_testkit::said(&said)
        );
        let made = stage.shell("cat /run/systemd/network/10-netplan-*");
        for (_, nic) in topology.nics_of(node) {
            assert!(made.contains(&format!("Name={}\n", nic.name)), "{made}");
            if let Some(address) = nic.address {
                assert!(made.contains(&format!("Address={address}/")), "{made}");
            }
        }
        for route in topology.routes.iter().filter(|route| route.node == node) {
            assert!(
                made.contains(&format!("Destination={}/{}\n", route.to, route.prefix)),
                "{made}"
            );
        }
        for bond in topology.bonds.iter().filter(|bond| bond.node == node) {
            let mode = if bond.selector == Selector::Packet { "balance-rr" } else { "balance-xor" };
            assert!(made.contains(&format!("[Bond]\nMode={mode}\n")), "{made}");
            assert!(made.contains(&format!("Address={}/16\n", bond.address)), "{made}");
        }
    }
}

#[test]
fn networkmanager_reads_all_keyfiles() {
    let scratch = Scratch::new("keyfiles");
    let bonds = [Selector::Packet, Selector::Flow].map(|selector| (dual(selector), 1));
    for (topology, node) in nodes().into_iter().chain(bonds) {
        let stage = Stage::of(&scratch, &topology, node);
        place(&stage, &topology, node, "networkmanager");
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
