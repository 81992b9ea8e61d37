//! What joined a run's nodes, as the run kept it: the pictures of a page, and which NIC is whose.

use std::fs;

use garland_core::trace::{Origin, Role};
use garland_report::page::{Joint, Nics, Picture};
use garland_topology::bounds::rails;
use garland_topology::{Medium, MediumKind, Topology};
use serde_json::Value;

use crate::topology;
use garland_fleet::inventory::LAB_PREFIX;
use garland_results::run::{Run, TOPOLOGY};
use garland_topology::drawing;

/// A picture of more nodes isn't one that can be seen.
const DRAWN: usize = 100;

/// The topology of a run in a lab; none elsewhere.
pub fn topology(run: &Run, notes: &mut Vec<String>) -> Option<Topology> {
    let text = fs::read(run.folder().join(TOPOLOGY)).ok()?;
    let topology = serde_json::from_slice::<Topology>(&text).ok();
    let sound = topology.filter(|topology| topology.check().is_ok());
    if sound.is_none() {
        notes.push("what joined its nodes can't be read".to_owned());
    }
    sound
}

/// The pictures of a run: of its lab, or of all labs that its scenario had.
pub fn pictures(topology: Option<&Topology>, result: &Value) -> Vec<Picture> {
    if let Some(topology) = topology {
        return vec![picture(topology)];
    }
    let Some(name) = result["scenario"]["name"].as_str() else { return Vec::new() };
    topology::all_of(name).iter().map(picture).collect()
}

fn picture(topology: &Topology) -> Picture {
    let joint = |(id, medium): (usize, &Medium)| Joint {
        name: medium.name.clone(),
        kind: match medium.kind {
            MediumKind::Hub { .. } => "hub",
            MediumKind::Switch { .. } => "switch",
            MediumKind::Wire => "wire",
        },
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
    }
}

/// The NICs of a node, given which address each lane uses. Of a lab they have names; elsewhere they are
/// numbered, and a single one that isn't known has none.
pub fn nics(topology: Option<&Topology>, lanes: &[u16], origin: &Origin, is_moved: bool) -> Nics {
    let most = lanes.iter().max().map_or(1, |rail| usize::from(*rail) + 1);
    let known = topology.and_then(|topology| {
        let id = match origin.role {
            // A command that was sent from another node has that one's NICs.
            Role::Head if is_moved => return None,
            Role::Head => 0,
            Role::Agent => {
                let name = origin.node.strip_prefix(LAB_PREFIX).unwrap_or(&origin.node);
                topology.nodes.iter().position(|node| node.name == name)?
            }
        };
        let own: Vec<_> = topology.nics_of(id).map(|(_, nic)| nic).collect();
        // What goes over a bond, or over several hops, uses any of them.
        let certain = own.len() == 1 || rails(topology) == own.len();
        (certain && own.len() >= most).then(|| own.iter().map(|nic| nic.name.clone()).collect())
    });
    let names: Vec<String> = known.unwrap_or_else(|| match most {
        1 => Vec::new(),
        most => (1..=most).map(|rail| format!("rail {rail}")).collect(),
    });
    Nics { names, of_lanes: lanes.iter().map(|rail| usize::from(*rail)).collect() }
}
