mod properties;

use garland_core::units::{Nanos, Rate};

use super::*;
use crate::*;

pub(super) const DEN: &str = r#"
version = 1
name = "den"
question = "What for?"

[topology]
shape = "mesh"
nodes = "srv,n[1-3]"
rate = "10mbit"
subnet = "192.168.0.0/20"
mtu = 1400
delay = "50us"
buffer = "64KiB"
collisions = true
cable = "coax"
rows = 2
columns = 2
segments = "hub"
joined = "switched"
routes = 2
selector = "flow"

[topology.price]
node = 300
nic = 15
cable = 2.5
hub = 20
switch = 100
port = 5

[[topology.node]]
names = "n[2-3]"
cpu = 0.5
disk = "12MB/s"
pipe = "4KiB"
block = "8KiB"
start = "50ms"
window = "64KiB"
sack = false
duplex = "full"
price = 99.99

[[topology.medium]]
name = "row2"
rate = "5mbit"
delay = "1ms"
buffer = "1KiB"
price = 7
collisions = false
cable = "thin"

[job]
anything = "goes"
"#;

pub(super) const EXPLICIT: &str = r#"
version = 1
[topology]
shape = "explicit"
nodes = "a,b,c,d"
rate = "100mbit"
mtu = 9000
[[topology.medium]]
name = "lan"
kind = "switch"
backplane = "150mbit"
[[topology.medium]]
name = "lab"
kind = "hub"
rate = "10mbit"
[[topology.medium]]
name = "link"
kind = "wire"
[[topology.medium]]
name = "link2"
kind = "wire"
[[topology.uplink]]
from = "lan"
to = "lab"
rate = "10mbit"
[[topology.nic]]
nodes = "d"
medium = "lab"
address = "10.0.0.4/24"
mtu = 1500
ethernet = "52:54:00:12:34:56"
[[topology.nic]]
nodes = "a,b"
medium = "lan"
address = "10.0.0.[1-2]/24"
name = "en0"
[[topology.nic]]
nodes = "b,c"
medium = "link"
[[topology.nic]]
nodes = "b,c"
medium = "link2"
[[topology.bond]]
nodes = "b"
nics = ["eth1", "eth2"]
address = "10.0.1.1/30"
selector = "flow"
[[topology.bond]]
nodes = "c"
nics = ["eth0", "eth1"]
address = "10.0.1.2/30"
selector = "flow"
[[topology.node]]
names = "b"
forwards = true
address = "10.9.9.9"
[[topology.route]]
nodes = "a,d"
to = "c"
via = "10.0.0.2"
[[topology.route]]
nodes = "a,d"
to = "b"
via = "10.0.0.2"
[[topology.route]]
nodes = "c"
to = "0.0.0.0/0"
via = ["10.0.1.1"]
"#;

fn fault(text: &str) -> String {
    parse(text, "den.toml").expect_err(text).to_string()
}

/// Returns the errors of files with a valid beginning.
fn faults(texts: &[&str]) -> String {
    let lines: Vec<String> =
        texts.iter().map(|text| fault(&format!("version = 1\n[topology]\n{text}"))).collect();
    lines.join("\n")
}

#[test]
fn reads_all_of_a_shape() {
    let file = parse(DEN, "x/y.toml").expect("a good file");
    assert_eq!((file.name.as_str(), file.question.as_deref()), ("den", Some("What for?")));
    let topology = file.topology;
    assert_eq!((topology.name.as_str(), topology.nodes.len(), topology.media.len()), ("den", 4, 6));
    assert!(topology.nics.iter().all(|nic| nic.mtu == 1400 && nic.price == Price(1500)));
    let nodes: Vec<_> = topology.nodes.iter().map(|n| (n.cpu, n.price.0)).collect();
    assert_eq!(nodes, [(None, 30000), (None, 30000), (Some(500), 9999), (Some(500), 9999)]);
    assert_eq!(topology.nodes[3].disk, Some(Rate::from_bytes_per_second(12_000_000)));
    let start = Some(Nanos::from_millis(50));
    let pipe = Some(4096);
    let block = Some(8192);
    let tcp = OldTcp { window: Some(65536), sack: Some(false), reno: None };
    let vintage = Vintage { pipe, block, start, tcp, ..Vintage::default() };
    assert_eq!(topology.nodes[2].vintage, vintage);
    assert_eq!(topology.nodes[1].vintage, Vintage::default());
    let row = &topology.media[0];
    assert_eq!((row.delay, row.buffer), (Nanos::from_micros(50), Some(65536)));
    // Two stations and the switch's port.
    assert_eq!(row.price, Price(3500));
    assert_eq!(row.cable, Cable { kind: "coax".into(), price: Price(250) });
    let other = &topology.media[1];
    assert_eq!(row.kind, MediumKind::Hub { collisions: true });
    assert_eq!(other.kind, MediumKind::Hub { collisions: false });
    let slow = Rate::from_bits_per_second(5_000_000);
    assert_eq!((other.rate, other.price), (Some(slow), Price(700)));
    assert_eq!((other.delay, other.buffer), (Nanos::from_millis(1), Some(1024)));
    assert_eq!(other.cable, Cable { kind: "thin".into(), price: Price(250) });
    assert_eq!(topology.media[4].price, Price(11000));
    assert!(topology.routes.iter().all(|route| route.selector == Selector::Flow));
}

#[test]
fn reads_all_that_is_written_out() {
    let topology = parse(EXPLICIT, "explicit.toml").expect("a good file").topology;
    assert_eq!(topology.name, "explicit");
    let nics: Vec<_> =
        topology.nics.iter().map(|nic| (nic.node, nic.name.as_str(), nic.mtu)).collect();
    let expected = [
        (0, "en0", 9000),
        (1, "en0", 9000),
        (1, "eth1", 9000),
        (1, "eth2", 9000),
        (2, "eth0", 9000),
        (2, "eth1", 9000),
        (3, "eth0", 1500),
    ];
    assert_eq!(nics, expected);
    assert_eq!(topology.nics[6].ethernet.to_string(), "52:54:00:12:34:56");
    assert_eq!(topology.bonds[1].nics, [4, 5]);
    let addresses: Vec<_> = topology.nodes.iter().map(|n| n.address.to_string()).collect();
    assert_eq!(addresses, ["10.0.0.1", "10.9.9.9", "10.0.1.2", "10.0.0.4"]);
    assert_eq!(topology.routes[4].hops[0].nic, 4);
    assert_eq!(topology.uplinks.len(), 1);
}

#[test]
fn a_number_stands_for_nodes_beside_the_head() {
    let text = "version = 1\n[topology]\nshape = \"switch\"\nnodes = 3";
    let file = parse(text, "a/den.toml").expect("a good file");
    let names: Vec<&str> = file.topology.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!((file.name.as_str(), names), ("den", vec!["n0", "n1", "n2", "n3"]));
}

#[test]
fn keys_are_those_of_the_shape() {
    let mut lines = vec![fault("version = 1\nname = \"x\""), fault("version = 2")];
    lines.push(faults(&[
        "",
        "shape = \"switch\"",
        "shape = \"swich\"",
        "shape = 1",
        "shape = \"star\"\nnodes = 3\ncolumns = 3",
        "shape = \"star\"\nnodes = 3\nbetwen = \"isolated\"",
        "shape = \"star\"\nnodes = 3\nbetween = \"isolatd\"",
        "shape = \"star\"\nnodes = 3\n[[topology.node]]\nnames = \"n1\"\nforwards = true",
        "shape = \"star\"\nnodes = 3\n[[topology.node]]\nnames = \"n9\"",
        "shape = \"star\"\nnodes = 3\n[[topology.medium]]\nname = \"wire\"",
        "shape = \"star\"\nnodes = 3\n[[topology.medium]]\nrate = \"1gbit\"",
        "shape = \"star\"\nnodes = 3\n[topology.node]\ncpu = 1",
        "shape = \"star\"\nnodes = 3\n[topology.price]\nwire = 1",
        "shape = \"mesh\"\nnodes = 16\nrows = 4\ncolumns = 4",
        "shape = \"mesh\"\nnodes = 15\ncolumns = 4",
        "shape = \"mesh\"\nnodes = 15\nrows = 4\ncolumns = 4\nselector = \"flow\"",
        "shape = \"mesh\"\nnodes = 15\nrows = 4\ncolumns = 4\nroutes = 3",
        "shape = \"joined\"\nnodes = 3\nselector = \"flow\"",
        "shape = \"joined\"\nnodes = 3\nfirst = 4",
        "shape = \"rail\"\nnodes = 3",
        "shape = \"leaf-spine\"\nnodes = 3\nleaves = 2",
        "shape = \"bonded\"\nnodes = 3\nnets = 1",
        "shape = \"star\"\nnodes = 3\ncollisions = true",
        "shape = \"star\"\nnodes = 3\n[[topology.medium]]\nname = \"wire1\"\ncollisions = true",
    ]));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    den.toml:1:1: the topology file needs `topology`: write a section `[topology]` with `shape` and `nodes`
    den.toml:1:11: version 2 of the topology file is not supported: this garland reads version 1
    den.toml:2:1: [topology] needs `shape`: write `shape = "switch"`
    den.toml:2:1: [topology] needs `nodes`: write `nodes = "n[0-3]"`, or 3 for the head n0 and the nodes n1 to n3
    den.toml:3:9: `shape` cannot be "swich" (did you mean switch?); allowed: hub, switch, star, bonded, mesh, joined, ring, full-mesh, leaf-spine, rail, explicit
    den.toml:3:9: `shape` must be a text in quotes, not 1
    den.toml:5:1: unknown key `columns` in [topology]; allowed: shape, nodes, rate, subnet, mtu, delay, buffer, collisions, cable, price, node, medium, between
    den.toml:5:1: unknown key `betwen` in [topology] (did you mean between?); allowed: shape, nodes, rate, subnet, mtu, delay, buffer, collisions, cable, price, node, medium, between
    den.toml:5:11: `between` cannot be "isolatd" (did you mean isolated?); allowed: isolated, forwarded
    den.toml:7:1: unknown key `forwards` in [[topology.node]]; allowed: names, cpu, disk, copies, pipe, block, start, window, sack, reno, duplex, price
    den.toml:6:9: n9 is not the name of a node of this topology (did you mean n0?)
    den.toml:6:8: wire is not the name of a medium of this topology (did you mean wire1?)
    den.toml:5:1: [[topology.medium]] needs `name`: write `name = "switch"`
    den.toml:5:1: `node` must be sections `[[topology.node]]` in double brackets, not a section
    den.toml:6:1: unknown key `wire` in [topology.price]; allowed: node, nic, cable, hub, switch, port
    den.toml:4:9: 4 rows x 4 columns are 16 nodes, but `nodes` gives 17 nodes with the head; if `nodes` is a number, it must be 15
    den.toml:2:1: [topology] needs `rows`: write `rows = 4`
    den.toml:7:12: `selector` is not allowed here: with one route there is nothing to select; write `routes = 2`, or remove `selector`
    den.toml:7:10: `routes` must be a whole number from 1 to 2, not 3
    den.toml:5:12: `selector` is not allowed here: with one wire there is nothing to select; write `wires = 2`, or remove `selector`
    den.toml:5:9: `first` must be a whole number from 1 to 3, not 4
    den.toml:2:1: [topology] needs `rails`: write `rails = 2`
    den.toml:2:1: [topology] needs `spines`: write `spines = 2`
    den.toml:5:8: `nets` must be a whole number from 2 to 16, not 1
    den.toml:5:14: `collisions` is not allowed here: only hubs have collisions; remove the key
    den.toml:7:14: `collisions` is not allowed here: only hubs have collisions; remove the key
    "#);
}

#[test]
fn a_node_has_no_more_nics_than_a_machine() {
    let nic = "[[topology.nic]]\nnodes = \"a,b\"\nmedium = \"lan\"\n";
    let text = format!(
        "version = 1\n[topology]\nshape = \"explicit\"\nnodes = \"a,b\"\n\
         [[topology.medium]]\nname = \"lan\"\nkind = \"switch\"\n{}",
        nic.repeat(1000)
    );
    let fault = parse(&text, "many.toml").expect_err("too many").to_string();
    assert!(fault.contains("no machine has more than 64 NICs"), "{fault}");
}

#[test]
fn values_are_checked() {
    let lines = faults(&[
        "shape = \"hub\"\nnodes = 3",
        "shape = \"hub\"\nnodes = 3\nrate = \"0bit\"",
        "shape = \"hub\"\nnodes = 3\nrate = \"10mbps\"",
        "shape = \"switch\"\nnodes = 0",
        "shape = \"switch\"\nnodes = \"n1\"",
        "shape = \"switch\"\nnodes = -1",
        "shape = \"switch\"\nnodes = 1001",
        "shape = \"switch\"\nnodes = \"n[1-2000]\"",
        "shape = \"switch\"\nnodes = \"n1,N1\"",
        "shape = \"switch\"\nnodes = \"n1,n[1\"",
        "shape = \"switch\"\nnodes = \"n1,n_2\"",
        "shape = \"switch\"\nnodes = \"@all\"",
        "shape = \"switch\"\nnodes = []",
        "shape = \"switch\"\nnodes = 3\nsubnet = \"10.0.0.0\"",
        "shape = \"switch\"\nnodes = 3\nsubnet = \"10.0.0.0/30\"",
        "shape = \"switch\"\nnodes = 3\nmtu = 100",
        "shape = \"switch\"\nnodes = 3\ndelay = \"1 d\"",
        "shape = \"switch\"\nnodes = 3\nbuffer = \"1 apple\"",
        "shape = \"switch\"\nnodes = 3\n[topology.price]\nnic = -1",
        "shape = \"switch\"\nnodes = 3\n[topology.price]\nnic = nan",
        "shape = \"switch\"\nnodes = 3\n[[topology.node]]\nnames = \"n1\"\ncpu = 0",
        "shape = \"switch\"\nnodes = 3\n[[topology.node]]\nnames = \"n1\"\npipe = \"5000B\"",
        "shape = \"switch\"\nnodes = 3\n[[topology.node]]\nnames = \"n1\"\ncpu = 0.5\ncopies = \"152MB/s\"",
        "shape = \"ring\"\nnodes = 200",
        "shape = \"full-mesh\"\nnodes = 66",
        "shape = \"mesh\"\nnodes = 300\nrows = 1\ncolumns = 301",
    ]);
    insta::assert_snapshot!(lines, @r#"
    den.toml:2:1: medium hub is a hub without a rate; a hub needs one, since all its stations share it: set `rate`, for instance to 10mbit
    den.toml:5:8: medium hub has the rate 0, which passes no packets: set another rate, or omit `rate` for no limit
    den.toml:5:8: `rate`: the unit of `10mbps` can mean bits or bytes: write `gbit`, `mbit`, `kbit` for bits or `MB/s` for bytes
    den.toml:4:9: node n0 is the only node: a topology needs at least two
    den.toml:4:9: node n1 is the only node: a topology needs at least two
    den.toml:4:9: `nodes` must be a whole number from 0 to 4294967295, not -1
    den.toml:4:9: 1002 nodes: a topology has at most 1001 with the head, since a Linux bridge has 1023 ports; use fewer nodes
    den.toml:4:9: 2000 nodes: a topology has at most 1001 with the head, since a Linux bridge has 1023 ports; use fewer nodes
    den.toml:4:9: two nodes have the name n1: rename one of them
    den.toml:4:14: `nodes`: `]` is missing after this `[`
    den.toml:4:9: "n_2" is not a valid node name: a host name consists of letters, digits, `-` and `.`, begins and ends with a letter or digit, and has at most 63 bytes
    den.toml:4:10: `nodes`: cannot read @all: groups can contain nodes, but `nodes` cannot contain groups
    den.toml:4:9: `nodes` must be a node list such as "n[0-3]", or the number of nodes without the head n0, not an array
    den.toml:5:10: `subnet`: "10.0.0.0" is not a network: write one such as 10.88.0.0/16
    den.toml:5:10: 10.0.0.0/30 has addresses for 2 nodes, but the topology has 4: use a shorter prefix
    den.toml:5:7: `mtu` must be a whole number from 576 to 65535, not 100
    den.toml:5:9: `delay`: `1 d` is not a time: write a number and one of ns, us, ms, s, min, h
    den.toml:5:10: `buffer`: `1 apple` is not a number of bytes: write a number and one of B, K, KiB, M, MiB, G, GiB, T, TiB, P, PiB (steps of 1024) or kB, MB, GB, TB, PB (steps of 1000)
    den.toml:6:7: `nic` must be a number from 0 to 10000000, not -1
    den.toml:6:7: `nic` must be a number from 0 to 10000000, not nan
    den.toml:7:7: `cpu` must be a number from 0.001 to 1000, not 0
    den.toml:7:8: `pipe`: the kernel has pipes of 4KiB to 1MiB, in powers of 2
    den.toml:8:10: `copies` is not allowed here: it gives the node's processor, and so does `cpu`; remove one of them
    den.toml:4:9: 201 nodes: a ring has at most 128, since a packet passes at most 64 hops, and the longest path is half of the ring
    den.toml:4:9: 67 nodes: a full mesh has at most 65, since no machine has more than 64 NICs
    den.toml:4:9: 301 nodes: a mesh has at most 256, since every node has a route to every other one
    "#);
}

#[test]
fn what_is_written_out_must_fit_together() {
    let changes = [
        ("to = \"lab\"", "to = \"lap\""),
        ("nodes = \"b,c\"\nmedium", "nodes = \"b,x\"\nmedium"),
        ("kind = \"hub\"", "kind = \"bus\""),
        ("kind = \"wire\"", "kind = \"wire\"\nbackplane = \"1gbit\""),
        ("address = \"10.0.0.4/24\"", "address = \"10.0.0.4\""),
        ("address = \"10.0.0.4/24\"", "address = \"10.0.0.4/33\""),
        ("address = \"10.0.0.4/24\"", "address = \"10.0.0.x/24\""),
        ("address = \"10.0.0.4/24\"", "peer = \"10.0.0.1/32\""),
        ("address = \"10.0.0.4/24\"\n", ""),
        ("10.0.0.[1-2]/24", "10.0.0.[1-3]/24"),
        ("ethernet = \"52", "ethernet = \"5"),
        ("nics = [\"eth1\"", "nics = [\"eth11\""),
        ("nics = [\"eth1\", ", "nics = ["),
        ("10.0.1.1/30", "10.0.1.1"),
        ("forwards = true", "forwards = 1"),
        ("forwards = true\n", ""),
        ("to = \"c\"", "to = \"e\""),
        ("to = \"c\"\nvia = \"10.0.0.2\"", "to = \"c\""),
        ("via = \"10.0.0.2\"", "via = \"10.7.0.2\""),
        ("via = \"10.0.0.2\"", "via = \"10.0.0.3\""),
        ("via = \"10.0.0.2\"", "via = \"eth9\""),
        ("via = [\"10.0.1.1\"]", "via = [\"10.0.1.1\", \"10.0.1.1\"]"),
    ];
    let lines = changes.map(|(from, to)| fault(&EXPLICIT.replacen(from, to, 1)));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    den.toml:24:6: lap is not the name of a medium of this topology (did you mean lan?)
    den.toml:38:9: x is not the name of a node of this topology (did you mean a?)
    den.toml:14:8: `kind` cannot be "bus"; allowed: hub, switch, wire
    den.toml:19:13: `backplane` is not allowed here: a backplane needs a switch; remove it
    den.toml:29:11: `address`: the network prefix is missing; write the address as 10.0.0.1/24, or set `peer`
    den.toml:29:11: `address`: the prefix must be 0 to 32
    den.toml:29:11: `address`: write addresses as 10.0.0.1 or 10.0.0.[1-4]
    den.toml:29:8: `peer`: no prefix is allowed here; remove it
    den.toml:5:9: node d has no address: add a NIC or a bond with an address, or set `address` in a section `[[topology.node]]`
    den.toml:35:11: `address` gives 3 addresses, but `nodes` gives 2 nodes: write one address per node
    den.toml:31:12: `ethernet`: "5:54:00:12:34:56" is not an Ethernet address: write six bytes such as 02:88:00:00:00:01
    den.toml:45:9: eth11 is not the name of a NIC of b (did you mean eth1?)
    den.toml:4:9: bond bond0 of b: it has 1 NIC, but a bond needs at least two
    den.toml:46:11: `address`: the network prefix is missing; write the address as 10.0.0.1/24
    den.toml:55:12: `forwards` must be true or false, not 1
    den.toml:4:9: packets from c to a do not arrive: c sends packets to b, which does not forward; enable forwarding there, or change the route
    den.toml:59:6: `to`: "e" is not a network: write one such as 10.88.0.0/16, an address, or the name of a node
    den.toml:57:1: [[topology.route]] needs `via`: write `via = "10.0.0.1"`, or a NIC such as "eth0"
    den.toml:60:7: 10.7.0.2 is not a neighbour of a: no NIC of the node is in the network of this address, or has it as its peer
    den.toml:4:9: the route of a to 10.0.1.2/32: its next hop 10.0.0.3 is not a neighbour on en0: use the address of a neighbour
    den.toml:60:7: eth9 is not the name of a NIC of a
    den.toml:4:9: the route of c to 0.0.0.0/0: it has the same next hop twice: remove one
    "#);
}

#[test]
fn only_hubs_collide() {
    let text = |shape: &str| {
        format!(
            "version = 1\n[topology]\nshape = \"{shape}\"\nnodes = 2\nrate = \"10mbit\"\n\
             collisions = true\n"
        )
    };
    let hub = parse(&text("hub"), "hub.toml").unwrap().topology;
    assert_eq!(hub.media[0].kind, MediumKind::Hub { collisions: true });
    let switch = parse(&text("switch"), "switch.toml").unwrap_err().to_string();
    assert!(switch.contains("only hubs have collisions"), "{switch}");
}

#[test]
fn what_the_manual_shows_can_be_read() {
    let manual = include_str!("../../../../docs/topology.md");
    let examples: Vec<&str> =
        manual.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let read: Vec<Topology> =
        examples.iter().map(|text| parse(text, "manual.toml").unwrap().topology).collect();
    assert_eq!(read.iter().map(|topology| topology.nodes.len()).collect::<Vec<_>>(), [4, 4, 3]);
    assert_eq!(read[1].nodes[2].cpu, Some(500), "the overrides are read too");
}
