//! `[[topology.node]]` and `[[topology.medium]]`: what differs from the rest.

use std::slice;

use super::error::{Fault, TopologyFileProblem};
use super::explicit;
use super::parse::{Reader, no_hub, rate, set_collisions};
use super::price::price;
use crate::{MediumId, NodeId, Topology};
use garland_core::form::{Alone, Section, Text, expand_text};
use garland_core::nearest::nearest;
use garland_core::units::{Nanos, Rate, bytes};

/// The smallest and the largest share of processors, in thousandths of one.
const CPU: std::ops::RangeInclusive<u32> = 1..=1_000_000;

pub(super) fn read(
    reader: &Reader<'_>,
    section: &Section<'_>,
    explicit: bool,
    topology: &mut Topology,
) -> Result<(), Fault> {
    let beside = |own: &[&'static str], explicits: &[&'static str]| {
        [own, if explicit { explicits } else { &[] }].concat()
    };
    let keys = beside(&["names", "cpu", "disk", "price"], &explicit::NODE_KEYS);
    for entry in section.sections("node", "[[topology.node]]", &keys)? {
        let names = entry.needed_text("names", "`names = \"n[1-2]\"`")?;
        let nodes = nodes(reader, topology, &names)?;
        let cpu = entry.parts("cpu", 1000, CPU)?;
        let disk = entry.read("disk", str::parse::<Rate>)?;
        let price = price(&entry, "price")?;
        for node in &nodes {
            let node = &mut topology.nodes[*node];
            (node.cpu, node.disk) = (cpu.or(node.cpu), disk.or(node.disk));
            node.price = price.unwrap_or(node.price);
        }
    }
    let keys = ["name", "rate", "latency", "buffer", "collisions", "price", "cable"];
    let keys = beside(&keys, &explicit::MEDIUM_KEYS);
    for entry in section.sections("medium", "[[topology.medium]]", &keys)? {
        let name = entry.needed_text("name", "`name = \"switch\"`")?;
        let medium = medium(topology, &name)?;
        let (latency, buffer) =
            (entry.read("latency", str::parse::<Nanos>)?, entry.read("buffer", bytes::parse)?);
        let (rate, price, cable) =
            (rate(&entry, "rate")?, price(&entry, "price")?, entry.text("cable")?);
        let collisions = entry.boolean("collisions")?;
        let medium = &mut topology.media[medium];
        if let Some(collisions) = collisions
            && !set_collisions(slice::from_mut(medium), collisions)
        {
            return Err(no_hub(&entry));
        }
        medium.rate = rate.or(medium.rate);
        medium.latency = latency.unwrap_or(medium.latency);
        medium.buffer = buffer.or(medium.buffer);
        medium.price = price.unwrap_or(medium.price);
        if let Some(cable) = cable {
            cable.value.trim().clone_into(&mut medium.cable.kind);
        }
    }
    Ok(())
}

/// The nodes that a list names.
pub(super) fn nodes(
    reader: &Reader<'_>,
    topology: &Topology,
    names: &Text<'_>,
) -> Result<Vec<NodeId>, Fault> {
    let found = expand_text(reader.text, names, &Alone("a topology file"))?;
    let known = || topology.nodes.iter().map(|node| node.name.as_str());
    found
        .into_iter()
        .map(|name| {
            topology
                .node(&name)
                .ok_or_else(|| unknown("node of this topology", name, names, known()))
        })
        .collect()
}

/// The medium of this name.
pub(super) fn medium(topology: &Topology, name: &Text<'_>) -> Result<MediumId, Fault> {
    let mut known = topology.media.iter().map(|medium| medium.name.as_str());
    known.clone().position(|medium| medium == name.value).ok_or_else(|| {
        unknown("medium of this topology", name.value.to_owned(), name, known.by_ref())
    })
}

/// A name that nothing has.
pub(super) fn unknown<'a>(
    what: &str,
    name: String,
    text: &Text<'_>,
    known: impl Iterator<Item = &'a str>,
) -> Fault {
    let near = nearest(&name, known).map(str::to_owned);
    Fault::new(
        text.span.clone(),
        TopologyFileProblem::Unknown { what: what.to_owned(), name, near },
    )
}
