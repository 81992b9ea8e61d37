//! Agents in the nodes of a lab, which are named `lab:n3` so that they can't be taken for real ones.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use garland_control::Agent;
use garland_core::cluster::Node;
use garland_lab::{Lab, StateDir};
use garland_protocol::KeyPair;

use super::binary::own_binary;
use super::orders::{Launched, Orders, start_confined};
use crate::args::Launch;
use crate::inventory::LAB_PREFIX;
use crate::reach::Unreached;
use crate::standing::Standing;
use garland_results::places::{Places, write_private};
use garland_results::run::TOPOLOGY;
use garland_terminal::failure::{Failure, OrFailure};

/// Where labs are recorded.
pub fn state(places: &Places) -> Result<StateDir, Failure> {
    Ok(StateDir(places.folder("lab")?))
}

/// Whether a lab is up.
pub fn runs(places: &Places, name: &str) -> bool {
    state(places).is_ok_and(|state| Lab::open(&state, name).is_ok())
}

/// Keeps what joins the lab's nodes, as planned, in a run's folder: the lab is gone when the run is read.
pub fn keep_topology(lab: &Lab, folder: &Path) -> Result<(), Failure> {
    let path = folder.join(TOPOLOGY);
    let text = serde_json::to_vec(&lab.spec().topology).or_nothing("writing a topology")?;
    write_private(&path, &text).or_nothing(format!("writing {}", path.display()))
}

/// The lab that `nodes` belong to, if they are a lab's.
pub fn find(nodes: &[Node], places: &Places, name: &str) -> Result<Option<Lab>, Failure> {
    let count = nodes.iter().filter(|node| node.name.starts_with(LAB_PREFIX)).count();
    if count == 0 {
        return Ok(None);
    }
    if count < nodes.len() {
        return Err(Failure::usage("nodes of a lab and real ones can't be in one command")
            .hint("no wire leads out of a lab"));
    }
    Lab::open(&state(places)?, name).map(Some).map_err(Failure::nothing)
}

/// If `nodes` are a lab's, moves this process, which must have one thread, to its head's place in
/// the lab's network.
pub fn enter(nodes: &[Node], places: &Places, name: &str) -> Result<Option<Lab>, Failure> {
    enter_at(nodes, places, name, None)
}

/// Moves this process to the place of the lab's node `at`, or of its head if that is `None`.
fn enter_at(
    nodes: &[Node],
    places: &Places,
    name: &str,
    at: Option<&str>,
) -> Result<Option<Lab>, Failure> {
    let lab = find(nodes, places, name)?;
    match (&lab, at) {
        (Some(lab), at) => lab.enter(at.unwrap_or(lab.head())).map_err(Failure::nothing)?,
        (None, Some(at)) => {
            return Err(Failure::usage(format!("--from {at} is for copies within a lab"))
                .hint("elsewhere the command runs, and copies from, where it is started"));
        }
        (None, None) => {}
    }
    Ok(lab)
}

impl Launch {
    /// [`enter`] at the node that the user named, or at the head.
    pub fn enter_lab(&self, nodes: &[Node], places: &Places) -> Result<Option<Lab>, Failure> {
        enter_at(nodes, places, self.lab(), self.sender())
    }

    /// The lab's node that the user named to send from, without its prefix.
    pub fn sender(&self) -> Option<&str> {
        self.from.as_deref().map(|name| name.strip_prefix(LAB_PREFIX).unwrap_or(name))
    }

    /// Whether agents take MPTCP: as told, and in a lab that is bonded so.
    pub fn takes_mptcp(&self, lab: Option<&Lab>) -> bool {
        self.mptcp || lab.is_some_and(Lab::wants_mptcp)
    }

    /// Whether a copy of so many lanes is made over MPTCP: as told, and in a lab that is bonded so
    /// where one lane must use all NICs. Of several, each has a NIC of its own.
    pub fn speaks_mptcp(&self, lab: Option<&Lab>, lanes: usize) -> bool {
        self.mptcp || lanes == 1 && lab.is_some_and(Lab::wants_mptcp)
    }
}

/// Connects to the agent of the lab's node `name` beside all wires, as over a network of its own for
/// management: whether the wires are as they should be doesn't matter.
pub fn connect_beside(
    lab: &Lab,
    name: &str,
    standing: &Standing,
    keys: &KeyPair,
) -> Result<Agent, Unreached> {
    let node = name.strip_prefix(LAB_PREFIX).unwrap_or(name);
    let connected = lab.within(node, || standing.connect_at(IpAddr::V4(Ipv4Addr::LOCALHOST), keys));
    connected.map_err(|error| Unreached::Beside(error.to_string()))?
}

/// Starts the agent of the lab's node `name` (with its prefix), confined to the node's folder.
pub fn launch(lab: &Lab, name: &str, orders: &Orders, log: &Path) -> Result<Launched, String> {
    let node = name.strip_prefix(LAB_PREFIX).unwrap_or(name);
    let root = lab.root(node).map_err(|error| error.to_string())?;
    let addresses = lab.rails(node).map_err(|error| error.to_string())?;
    let binary = std::fs::read_link(own_binary()).map_err(|error| error.to_string())?;
    let command = lab.command(node, binary).map_err(|error| error.to_string())?;
    let disk = lab.disk(node).map_err(|error| error.to_string())?;
    let orders = Orders { disk, ..orders.clone() };
    let (ready, child) = start_confined(command, name, &root, &orders, log)?;
    Ok(Launched {
        ready,
        addresses: addresses.into_iter().map(IpAddr::V4).collect(),
        child: Some(child),
    })
}
