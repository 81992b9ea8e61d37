//! `garland net`: the network of a topology, before and after it is cabled.

mod bounds;
mod change;
mod config;
mod confirm;
mod diff;
mod guard;
mod installation;
mod kernel;
mod show;
mod size;
mod tables;
mod tool;

use std::fs;

use garland_core::cluster::topology::{Topology, file};

use crate::args::{Args, NetCommand};
use crate::failure::{Exit, Failure};
use crate::scenario;

/// Does what the user asked of a network.
pub fn run(args: &Args, command: &NetCommand) -> Result<Exit, Failure> {
    match command {
        NetCommand::Show(show) => show::run(args, show),
        NetCommand::Size(size) => size::run(args, size),
        NetCommand::Config(config) => config::run(config),
        NetCommand::Confirm => confirm::run(),
        NetCommand::Guard { installation } => guard::run(installation),
    }
}

/// The topology of a scenario that comes with Garland, or of a file: what has a `/` or ends in
/// `.toml` is a file.
fn read(name: &str) -> Result<Topology, Failure> {
    let is_file = name.contains('/') || name.ends_with(".toml");
    if let Some(text) = scenario::text(name).filter(|_| !is_file) {
        return Ok(file::parse(text, name).map_err(Failure::usage)?.topology);
    }
    let text = fs::read_to_string(name).map_err(|error| {
        let failure = Failure::usage(format!("reading the topology {name}: {error}"));
        if is_file {
            return failure;
        }
        failure.hint("name a file, or a scenario of garland scenario list")
    })?;
    Ok(file::parse(&text, name).map_err(Failure::usage)?.topology)
}
