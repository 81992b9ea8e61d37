//! `garland net`: the real network of a topology.

mod change;
mod config;
mod confirm;
mod diff;
mod guard;
mod installation;
mod kernel;
mod tool;

use std::path::Path;

use garland_core::cluster::topology::Topology;

use crate::args::NetCommand;
use crate::failure::{Exit, Failure};

/// Does what the user asked of a network.
pub fn run(command: &NetCommand) -> Result<Exit, Failure> {
    match command {
        NetCommand::Config(config) => config::run(config),
        NetCommand::Confirm => confirm::run(),
        NetCommand::Guard { installation } => guard::run(installation),
    }
}

/// Reads a topology file.
fn read(path: &Path) -> Result<Topology, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("reading {}: {error}", path.display())))?;
    let topology: Topology = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    topology.check().map_err(|fault| Failure::usage(format!("{}: {fault}", path.display())))?;
    Ok(topology)
}
