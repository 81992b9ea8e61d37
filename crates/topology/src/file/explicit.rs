//! The shape `explicit`, in which media, NICs, bonds and uplinks are listed.

use std::net::Ipv4Addr;

use garland_core::form::{Alone, Section, Text, expand_text};
use garland_core::nic_facts::Ethernet;

use super::error::Fault;
use super::lookup::{find_medium, find_nodes, nic};
use super::routes;
use super::values::{SELECTORS, out_of_place, rate, read_mtu, value};
use crate::shapes::Basis;
use crate::{
    Bond, Cable, Medium, MediumKind, Nic, NicId, Node, Price, Reach, Selector, Topology, Uplink,
};

/// The maximum number of NICs of a node. Each has a table in most of what a topology is used for,
/// and a short file may list very many.
const NICS_OF_NODE_MAX: usize = 64;

/// The keys of `[topology]` that only this shape has.
pub(super) const KEYS: [&str; 4] = ["nic", "uplink", "bond", "route"];

/// The keys of `[[topology.medium]]` that only this shape has.
pub(super) const MEDIUM_KEYS: [&str; 2] = ["kind", "backplane"];
/// The keys of `[[topology.node]]` that only this shape has.
pub(super) const NODE_KEYS: [&str; 2] = ["address", "forwards"];

pub(super) fn read(file: &str, section: &Section<'_>, basis: &Basis) -> Result<Topology, Fault> {
    let names = basis.nodes.iter();
    let mut topology = Topology {
        name: basis.name.clone(),
        nodes: names.map(|name| Node::new(name, Ipv4Addr::UNSPECIFIED)).collect(),
        media: media(section, basis)?,
        ..Topology::default()
    };
    uplinks(section, &mut topology)?;
    nics(file, section, &mut topology)?;
    bonds(file, section, &mut topology)?;
    own_addresses(file, section, &mut topology)?;
    routes::read(file, section, &mut topology)?;
    Ok(topology)
}

/// Reads the names and kinds of media. `overrides` reads their other properties.
fn media(section: &Section<'_>, basis: &Basis) -> Result<Vec<Medium>, Fault> {
    let mut media = Vec::new();
    for entry in section.open_sections("medium", "[[topology.medium]]")? {
        let name = entry.needed_text("name", "`name = \"lan\"`")?;
        let backplane = rate(&entry, "backplane")?;
        let kinds = [
            ("hub", MediumKind::Hub { collisions: false }),
            ("switch", MediumKind::Switch { backplane }),
            ("wire", MediumKind::Wire),
        ];
        let kind = entry.word("kind", &kinds)?;
        let kind = kind.ok_or_else(|| entry.missing("kind", "`kind = \"switch\"`"))?;
        if backplane.is_some() && !matches!(kind, MediumKind::Switch { .. }) {
            return Err(out_of_place(&entry, "backplane", "a backplane needs a switch; remove it"));
        }
        media.push(Medium {
            name: name.value.to_owned(),
            kind,
            rate: basis.rate,
            cable: Cable { kind: "direct".to_owned(), ..Cable::default() },
            ..Medium::default()
        });
    }
    Ok(media)
}

fn uplinks(section: &Section<'_>, topology: &mut Topology) -> Result<(), Fault> {
    for entry in section.sections("uplink", "[[topology.uplink]]", &["from", "to", "rate"])? {
        let from = find_medium(topology, &entry.needed_text("from", "`from = \"switch\"`")?)?;
        let to = find_medium(topology, &entry.needed_text("to", "`to = \"hub\"`")?)?;
        topology.uplinks.push(Uplink { from, to, rate: rate(&entry, "rate")? });
    }
    Ok(())
}

fn nics(file: &str, section: &Section<'_>, topology: &mut Topology) -> Result<(), Fault> {
    let keys = ["nodes", "medium", "address", "peer", "name", "ethernet", "mtu"];
    let mut counts = vec![0_usize; topology.nodes.len()];
    for nic in &topology.nics {
        counts[nic.node] += 1;
    }
    for entry in section.sections("nic", "[[topology.nic]]", &keys)? {
        let owners = entry.needed_text("nodes", "`nodes = \"n[1-2]\"`")?;
        let owners = find_nodes(file, topology, &owners)?;
        let medium = find_medium(topology, &entry.needed_text("medium", "`medium = \"lan\"`")?)?;
        let addresses = read_addresses(file, &entry, "address", owners.len())?;
        let peers = addresses_of(file, &entry, "peer", owners.len())?;
        let ethernet = entry.read("ethernet", str::parse::<Ethernet>)?;
        let mtu = read_mtu(&entry)?.or(read_mtu(section)?);
        let name = entry.text("name")?;
        for (place, node) in owners.into_iter().enumerate() {
            let own = counts[node];
            if own == NICS_OF_NODE_MAX {
                let reason = "no machine has more than 64 NICs";
                return Err(value(&entry, "nodes", reason));
            }
            counts[node] += 1;
            let address = addresses.as_ref().map(|addresses| addresses.list[place]);
            let prefix = addresses.as_ref().and_then(|addresses| addresses.prefix);
            let reach = match (&peers, prefix, address) {
                (Some(peers), _, _) => Reach::Peer(peers.list[place]),
                (None, Some(prefix), _) => Reach::Subnet(prefix),
                (None, None, None) => Reach::Nobody,
                (None, None, Some(_)) => {
                    let reason = "the network prefix is missing; write the address as 10.0.0.1/24, or set `peer`";
                    return Err(value(&entry, "address", reason));
                }
            };
            topology.nics.push(Nic {
                node,
                name: name
                    .as_ref()
                    .map_or_else(|| format!("eth{own}"), |name| name.value.to_owned()),
                medium,
                address,
                reach,
                ethernet: ethernet.unwrap_or(Ethernet([0; 6])),
                mtu: mtu.unwrap_or(1500),
                price: Price::default(),
            });
        }
    }
    topology.nics.sort_by_key(|nic| nic.node);
    for (id, nic) in topology.nics.iter_mut().enumerate() {
        if nic.ethernet == Ethernet([0; 6]) {
            nic.ethernet = Ethernet::from_index(id);
        }
    }
    Ok(())
}

fn bonds(file: &str, section: &Section<'_>, topology: &mut Topology) -> Result<(), Fault> {
    let keys = ["nodes", "nics", "name", "selector", "address"];
    for entry in section.sections("bond", "[[topology.bond]]", &keys)? {
        let owners = entry.needed_text("nodes", "`nodes = \"n[1-2]\"`")?;
        let owners = find_nodes(file, topology, &owners)?;
        let selector = entry.word("selector", &SELECTORS)?.unwrap_or_default();
        let names = entry.texts("nics")?;
        let addresses = read_addresses(file, &entry, "address", owners.len())?;
        for (place, node) in owners.into_iter().enumerate() {
            let nics: Vec<NicId> =
                names.iter().map(|name| nic(topology, node, name)).collect::<Result<_, _>>()?;
            let first = nics.first().map(|nic| &topology.nics[*nic]);
            let of_first = first.and_then(|nic| Some((nic.address?, nic.reach)));
            let (address, prefix) = match (&addresses, of_first) {
                (Some(Addresses { list, prefix: Some(prefix) }), _) => (list[place], *prefix),
                (Some(_), _) => {
                    let reason = "the network prefix is missing; write the address as 10.0.0.1/24";
                    return Err(value(&entry, "address", reason));
                }
                (None, Some((address, Reach::Subnet(prefix)))) if selector == Selector::Subflow => {
                    (address, prefix)
                }
                (None, _) => {
                    return Err(entry.missing("address", "`address = \"10.0.0.1/24\"`").into());
                }
            };
            let name = entry.text("name")?.map_or("bond0", |name| name.value).to_owned();
            topology.bonds.push(Bond { node, name, nics, selector, address, prefix });
        }
    }
    Ok(())
}

/// Sets the address of each node: the one in its section, or else that of its first bond or NIC.
fn own_addresses(file: &str, section: &Section<'_>, topology: &mut Topology) -> Result<(), Fault> {
    for entry in section.open_sections("node", "[[topology.node]]")? {
        let names = entry.needed_text("names", "`names = \"n[1-2]\"`")?;
        let named = find_nodes(file, topology, &names)?;
        let forwards = entry.boolean("forwards")?;
        let addresses = addresses_of(file, &entry, "address", named.len())?;
        for (place, node) in named.into_iter().enumerate() {
            let node = &mut topology.nodes[node];
            node.forwards = forwards.unwrap_or(node.forwards);
            if let Some(addresses) = &addresses {
                node.address = addresses.list[place];
            }
        }
    }
    for id in 0..topology.nodes.len() {
        if !topology.nodes[id].address.is_unspecified() {
            continue;
        }
        let bond = topology.bonds.iter().find(|bond| bond.node == id).map(|bond| bond.address);
        let nic = topology.nics_of(id).find_map(|(_, nic)| nic.address);
        let Some(address) = bond.or(nic) else {
            let message = format!(
                "node {} has no address: add a NIC or a bond with an address, or set `address` in a section `[[topology.node]]`",
                topology.nodes[id].name
            );
            return Err(Fault::contents(section.span_of("nodes"), message));
        };
        topology.nodes[id].address = address;
    }
    Ok(())
}

/// One address for each node, and their common prefix length in bits if given.
struct Addresses {
    list: Vec<Ipv4Addr>,
    prefix: Option<u8>,
}

/// Reads the addresses at `key`, with an optional prefix: `10.0.0.[1-4]/24`.
fn read_addresses(
    file: &str,
    entry: &Section<'_>,
    key: &'static str,
    nodes: usize,
) -> Result<Option<Addresses>, Fault> {
    let Some(text) = entry.text(key)? else {
        return Ok(None);
    };
    let (list, prefix) = match text.value.split_once('/') {
        None => (text.clone(), None),
        Some((list, prefix)) => {
            let prefix = prefix.parse::<u8>().ok().filter(|prefix| *prefix <= 32);
            let prefix = prefix.ok_or_else(|| value(entry, key, "the prefix must be 0 to 32"))?;
            (Text { value: list, ..text.clone() }, Some(prefix))
        }
    };
    let names = expand_text(file, &list, &Alone("a topology file"))?;
    let list: Option<Vec<Ipv4Addr>> = names.iter().map(|name| name.parse().ok()).collect();
    let list =
        list.ok_or_else(|| value(entry, key, "write addresses as 10.0.0.1 or 10.0.0.[1-4]"))?;
    if list.len() != nodes {
        let found = list.len();
        let message = format!(
            "`{key}` gives {found} addresses, but `nodes` gives {nodes} nodes: write one address per node"
        );
        return Err(Fault::contents(text.span, message));
    }
    Ok(Some(Addresses { list, prefix }))
}

/// Reads the addresses at `key`, without a prefix.
fn addresses_of(
    file: &str,
    entry: &Section<'_>,
    key: &'static str,
    nodes: usize,
) -> Result<Option<Addresses>, Fault> {
    match read_addresses(file, entry, key, nodes)? {
        Some(Addresses { prefix: Some(_), .. }) => {
            Err(value(entry, key, "no prefix is allowed here; remove it"))
        }
        other => Ok(other),
    }
}
