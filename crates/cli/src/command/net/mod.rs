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

use garland_core::cluster::topology::{Topology, file};

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
    let file = file::parse(&text, &path.to_string_lossy()).map_err(Failure::usage)?;
    Ok(file.topology)
}
