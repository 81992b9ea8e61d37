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
mod verify;

use crate::args::{Args, NetCommand};
use crate::failure::{Exit, Failure};

/// Does what the user asked of a network.
pub fn run(args: &Args, command: &NetCommand) -> Result<Exit, Failure> {
    match command {
        NetCommand::Show(show) => show::run(args, show),
        NetCommand::Size(size) => size::run(args, size),
        NetCommand::Config(config) => config::run(config),
        NetCommand::Verify(verify) => verify::run(args, verify),
        NetCommand::Confirm => confirm::run(),
        NetCommand::Guard { installation } => guard::run(installation),
    }
}
