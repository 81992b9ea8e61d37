//! The topology of a run: the pictures of a page, and the NICs of its nodes.

use std::collections::BTreeMap;

use garland_core::trace::{Origin, Role};
use garland_fleet::context::Context;
use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_report::page::{Joint, Nics, Picture};
use garland_state::run::{Run, TOPOLOGY};
use garland_topology::bounds::rails;
use garland_topology::drawing;
use garland_topology::{Medium, Topology, scenarios};
use serde_json::Value;

use crate::lab_result::kind;

/// The most nodes that are drawn; a picture of more is too dense to read.
const DRAWN: usize = 100;

/// Reads the topology of a run in a lab; returns `None` for other runs. If the topology cannot be
/// read, returns `None` and adds a note.
pub fn topology(run: &Run, notes: &mut Vec<String>) -> Option<Topology> {
    let text = run.read(TOPOLOGY).ok()?;
    let topology = serde_json::from_slice::<Topology>(&text).ok();
    let sound = topology.filter(|topology| topology.check().is_ok());
    if sound.is_none() {
        notes.push("cannot read its topology".to_owned());
    }
    sound
}

/// Returns the pictures of a run's lab, or of all labs of its scenario.
pub fn draw_pictures(topology: Option<&Topology>, result: &Value) -> Vec<Picture> {
    if let Some(topology) = topology {
        return vec![picture(topology)];
    }
    let Some(name) = result["scenario"]["name"].as_str() else { return Vec::new() };
    scenarios::all_of(name).iter().map(picture).collect()
}

fn picture(topology: &Topology) -> Picture {
    let joint = |(id, medium): (usize, &Medium)| Joint {
        name: medium.name.clone(),
        kind: kind(medium.kind),
        bits_per_second: medium.rate.map(garland_core::units::Rate::bits_per_second),
        stations: topology
            .stations(id)
            .map(|(_, nic)| format!("{} {}", topology.nodes[nic.node].name, nic.name))
            .collect(),
    };
    Picture {
        name: topology.name.clone(),
        nodes: topology.nodes.len(),
        nics: topology.nics.len(),
        joints: topology.media.iter().enumerate().map(joint).collect(),
        svg: (topology.nodes.len() <= DRAWN).then(|| drawing::inline(topology)),
        crossings: Value::Null,
    }
}

/// Returns the cables that each link of a copy crossed; `null` if there is only one medium.
/// `planned` has the names of nodes, the head first, which is the node `sender` of the lab; `rails`
/// are the indices of the addresses that lanes use.
pub fn crossings(
    topology: &Topology,
    planned: &[String],
    sender: Option<&str>,
    links: impl Iterator<Item = (u16, u16)>,
    rails: &[u16],
) -> Value {
    let node = |name: &str| topology.node(name.strip_prefix(LAB_PREFIX).unwrap_or(name));
    let place = |index: u16| match index {
        0 => sender.map_or(Some(0), node),
        index => node(planned.get(usize::from(index))?),
    };
    let drawn = topology.media.len() > 1 && topology.nodes.len() <= DRAWN;
    let crossings = drawn.then(|| drawing::crossings(topology, links, place, rails));
    serde_json::to_value(crossings).unwrap_or_default()
}

/// Returns the racks of nodes in the cluster file that commands find here; empty without one.
pub fn known_racks() -> BTreeMap<String, String> {
    let inventory = Inventory::open(&Context::default()).ok();
    let nodes = inventory.as_ref().and_then(|it| it.cluster()).map_or(&[][..], |it| &it.nodes);
    nodes.iter().filter_map(|node| Some((node.name.clone(), node.rack.clone()?))).collect()
}

/// Returns the NICs of a node; `lanes` are the indices of the addresses that the lanes use. The
/// NICs of a lab have names; elsewhere NICs are numbered, and a single NIC has no name. `is_moved`
/// says whether the head ran on another node (`--from`).
pub fn nics(topology: Option<&Topology>, lanes: &[u16], origin: &Origin, is_moved: bool) -> Nics {
    let most = lanes.iter().max().map_or(1, |rail| usize::from(*rail) + 1);
    let known = topology.and_then(|topology| {
        let id = match origin.role {
            // A head that was moved to another node (--from) uses that node's NICs.
            Role::Head if is_moved => return None,
            Role::Head => 0,
            Role::Agent => {
                let name = origin.node.strip_prefix(LAB_PREFIX).unwrap_or(&origin.node);
                topology.nodes.iter().position(|node| node.name == name)?
            }
        };
        let own: Vec<_> = topology.nics_of(id).map(|(_, nic)| nic).collect();
        // Traffic over a bond, or over several hops, may use any NIC.
        let certain = own.len() == 1 || rails(topology) == own.len();
        (certain && own.len() >= most).then(|| own.iter().map(|nic| nic.name.clone()).collect())
    });
    let names: Vec<String> = known.unwrap_or_else(|| match most {
        1 => Vec::new(),
        most => (1..=most).map(|rail| format!("rail {rail}")).collect(),
    });
    Nics { names, of_lanes: lanes.iter().map(|rail| usize::from(*rail)).collect() }
}
