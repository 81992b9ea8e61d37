//! Properties of nodes and media: first those that `[topology]` sets for all, then those that
//! `[[topology.node]]` and `[[topology.medium]]` set for single ones.

use std::slice;

use garland_core::form::Section;
use garland_core::nic_facts::Duplex;
use garland_core::units::{Nanos, Rate, bytes};

use super::error::Fault;
use super::explicit;
use super::lookup::{find_medium, find_nodes};
use super::price::{self, read_price};
use super::values::{out_of_place, rate, read_mtu, set_collisions, value};
use crate::half_duplex::halve;
use crate::{Medium, NicId, OldTcp, Topology, Vintage};

/// The values of `duplex`.
const DUPLEX: [(&str, Duplex); 2] = [("half", Duplex::Half), ("full", Duplex::Full)];

/// The range of a node's CPU limit, in thousandths of one CPU.
const CPU: std::ops::RangeInclusive<u32> = 1..=1_000_000;

/// Sets the properties that apply to all media and NICs, then those of single nodes and media.
pub(super) fn read(
    file: &str,
    section: &Section<'_>,
    explicit: bool,
    topology: &mut Topology,
) -> Result<(), Fault> {
    // In the explicit shape each NIC has an MTU of its own.
    if let Some(mtu) = read_mtu(section)?.filter(|_| !explicit) {
        topology.nics.iter_mut().for_each(|nic| nic.mtu = mtu);
    }
    set_media(section, &mut topology.media)?;
    price::read(section, topology)?;
    single(file, section, explicit, topology)
}

/// Sets the properties of all `media` that are given in `section`, except rate and price.
fn set_media(section: &Section<'_>, media: &mut [Medium]) -> Result<(), Fault> {
    let delay = section.read("delay", str::parse::<Nanos>)?;
    let buffer = section.read("buffer", bytes::parse)?;
    let cable = section.text("cable")?;
    if let Some(collisions) = section.boolean("collisions")?
        && !set_collisions(media, collisions)
    {
        let reason = "only hubs have collisions; remove the key";
        return Err(out_of_place(section, "collisions", reason));
    }
    for medium in media {
        medium.delay = delay.unwrap_or(medium.delay);
        medium.buffer = buffer.or(medium.buffer);
        if let Some(cable) = &cable {
            cable.value.trim().clone_into(&mut medium.cable.kind);
        }
    }
    Ok(())
}

/// Reads the sections of single nodes and media.
fn single(
    file: &str,
    section: &Section<'_>,
    explicit: bool,
    topology: &mut Topology,
) -> Result<(), Fault> {
    let beside = |own: &[&'static str], explicits: &[&'static str]| {
        [own, if explicit { explicits } else { &[] }].concat()
    };
    let keys = [
        "names", "cpu", "disk", "copies", "pipe", "block", "start", "window", "sack", "reno",
        "duplex", "price",
    ];
    let keys = beside(&keys, &explicit::NODE_KEYS);
    for entry in section.sections("node", "[[topology.node]]", &keys)? {
        let names = entry.needed_text("names", "`names = \"n[1-2]\"`")?;
        let nodes = find_nodes(file, topology, &names)?;
        let cpu = entry.parts("cpu", 1000, CPU)?;
        let disk = entry.read("disk", str::parse::<Rate>)?;
        let vintage = read_vintage(&entry)?;
        let price = read_price(&entry, "price")?;
        let is_half = entry.word("duplex", &DUPLEX)? == Some(Duplex::Half);
        for &id in nodes.iter().filter(|_| is_half) {
            let nics: Vec<NicId> = topology.nics_of(id).map(|(nic, _)| nic).collect();
            for nic in nics {
                halve(topology, nic).map_err(|medium| {
                    let reason = format!("{medium} has no `rate` that its directions could share");
                    value(&entry, "duplex", &reason)
                })?;
            }
        }
        for node in &nodes {
            let node = &mut topology.nodes[*node];
            (node.cpu, node.disk) = (cpu.or(node.cpu), disk.or(node.disk));
            node.vintage = vintage.or(node.vintage);
            if node.cpu.is_some() && node.vintage.copies.is_some() {
                let reason = "it gives the node's processor, and so does `cpu`; remove one of them";
                return Err(out_of_place(&entry, "copies", reason));
            }
            node.price = price.unwrap_or(node.price);
        }
    }
    let keys = ["name", "rate", "delay", "buffer", "collisions", "price", "cable"];
    let keys = beside(&keys, &explicit::MEDIUM_KEYS);
    for entry in section.sections("medium", "[[topology.medium]]", &keys)? {
        let name = entry.needed_text("name", "`name = \"switch\"`")?;
        let medium = find_medium(topology, &name)?;
        let medium = &mut topology.media[medium];
        set_media(&entry, slice::from_mut(medium))?;
        medium.rate = rate(&entry, "rate")?.or(medium.rate);
        medium.price = read_price(&entry, "price")?.unwrap_or(medium.price);
    }
    Ok(())
}

/// Reads the conditions of the time in the section of a node.
fn read_vintage(entry: &Section<'_>) -> Result<Vintage, Fault> {
    let vintage = Vintage {
        copies: rate(entry, "copies")?,
        pipe: entry.read("pipe", bytes::parse)?,
        block: entry.read("block", bytes::parse)?,
        start: entry.read("start", str::parse::<Nanos>)?,
        tcp: OldTcp {
            window: entry.read("window", bytes::parse)?,
            sack: entry.boolean("sack")?,
            reno: entry.boolean("reno")?,
        },
    };
    match vintage.fault() {
        Some((key, reason)) => Err(value(entry, key, &reason)),
        None => Ok(vintage),
    }
}
