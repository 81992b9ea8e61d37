//! Starts agents in the nodes of a lab. The names of these nodes begin with `lab:`, as in `lab:n3`,
//! to distinguish them from real nodes.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use garland_core::cluster::Node;
use garland_core::cluster::listen::ListenAt;
use garland_core::printable;
use garland_lab::{Lab, StateDir};
use garland_state::places::Places;
use garland_state::run::TOPOLOGY;
use garland_sys::private_file;
use garland_terminal::failure::{Failure, OrFailure};

use super::binary::own_binary;
use super::error::cannot;
use super::orders::{LaunchResult, Orders, start_confined};
use crate::args::Launch;
use crate::inventory::LAB_PREFIX;
use crate::reach::Unreached;
use crate::standing::Standing;

/// Returns the directory of lab records.
pub fn state(places: &Places) -> Result<StateDir, Failure> {
    Ok(StateDir(places.folder("lab")?))
}

/// Returns whether the lab `name` is up.
pub fn runs(places: &Places, name: &str) -> bool {
    state(places).is_ok_and(|state| Lab::open(&state, name).is_ok())
}

/// Writes the lab's planned topology to a run's directory `folder`, since the lab may be gone when
/// the run is read.
pub fn keep_topology(lab: &Lab, folder: &Path) -> Result<(), Failure> {
    let path = folder.join(TOPOLOGY);
    let text =
        serde_json::to_vec(&lab.spec().topology).or_nothing("cannot write the lab's topology")?;
    private_file::replace_unsynced(&path, &text)
        .or_nothing(format!("cannot write {}", printable::path(&path)))
}

/// Opens the lab `name` if `nodes` belong to a lab; none if they are real nodes. Fails if only some
/// of them belong to a lab.
pub fn find(nodes: &[Node], places: &Places, name: &str) -> Result<Option<Lab>, Failure> {
    let count = nodes.iter().filter(|node| node.name.starts_with(LAB_PREFIX)).count();
    if count == 0 {
        return Ok(None);
    }
    if count < nodes.len() {
        return Err(Failure::usage("lab nodes and real nodes cannot be in one command")
            .hint("a lab is not connected to the real network"));
    }
    Lab::open(&state(places)?, name).map(Some).map_err(Failure::nothing)
}

/// If `nodes` belong to the lab `name`, moves this process to the network namespace of the lab's
/// node `at`, or, by default, of the lab's head. The process must have only one thread. Returns the
/// lab; none for real nodes.
pub fn enter(
    nodes: &[Node],
    places: &Places,
    name: &str,
    at: Option<&str>,
) -> Result<Option<Lab>, Failure> {
    let lab = find(nodes, places, name)?;
    match (&lab, at) {
        (Some(lab), at) => lab.enter(at.unwrap_or(lab.head()))?,
        (None, Some(at)) => {
            return Err(Failure::usage(format!("--from {at} applies only to lab nodes"))
                .hint("other copies are sent by the machine on which the command runs"));
        }
        (None, None) => {}
    }
    Ok(lab)
}

impl Launch {
    /// Calls [`enter`] with the user's lab and `--from` node.
    pub fn enter_lab(&self, nodes: &[Node], places: &Places) -> Result<Option<Lab>, Failure> {
        enter(nodes, places, self.lab(), self.sender())
    }

    /// Returns the lab node of `--from`, without its prefix; none without the option.
    pub fn sender(&self) -> Option<&str> {
        self.from.as_deref().map(|name| name.strip_prefix(LAB_PREFIX).unwrap_or(name))
    }

    /// Returns whether agents accept MPTCP: either the user asked for it, or the lab bonds NICs by
    /// MPTCP.
    pub fn takes_mptcp(&self, lab: Option<&Lab>) -> bool {
        self.mptcp || lab.is_some_and(Lab::wants_mptcp)
    }

    /// Returns whether a copy with this number of lanes uses MPTCP. It does if the user asked for
    /// it, or if the lab bonds NICs by MPTCP and the copy has one lane, which must use all NICs.
    /// Several lanes each use a different NIC.
    pub fn speaks_mptcp(&self, lab: Option<&Lab>, lanes: usize) -> bool {
        self.mptcp || lanes == 1 && lab.is_some_and(Lab::wants_mptcp)
    }
}

/// Calls `reach` with a record by which it reaches the agent of the lab's node `name` without using
/// emulated links, as over a separate management network. Faults of the links have no effect on
/// this connection.
pub fn out_of_band<T: Send>(
    lab: &Lab,
    name: &str,
    standing: &Standing,
    reach: impl FnOnce(&Standing) -> Result<T, Unreached> + Send,
) -> Result<T, Unreached> {
    let node = name.strip_prefix(LAB_PREFIX).unwrap_or(name);
    lab.within(node, || reach(&standing.at(IpAddr::V4(Ipv4Addr::LOCALHOST))))?
}

/// Starts the agent of the lab's node `name` (with its prefix), confined to the node's directory.
pub fn launch(lab: &Lab, name: &str, orders: &Orders, log: &Path) -> LaunchResult {
    let node = name.strip_prefix(LAB_PREFIX).unwrap_or(name);
    let binary =
        std::fs::read_link(own_binary()).map_err(cannot("find the running program", ""))?;
    let command = lab.command(node, binary)?;
    // The log of this machine is not that of an emulated node.
    let orders = Orders { disk: lab.disk(node)?, no_syslog: true, ..orders.clone() };
    let addresses = lab.rails(node)?.into_iter().map(IpAddr::V4).collect();
    // A program of a time with slow starts begins as late, whoever starts it.
    lab.await_start(node)?;
    // The node's network is its own, and measurements beside its wires come over loopback.
    start_confined(command, name, &lab.root(node)?, addresses, ListenAt::ALL, &orders, log)
}
