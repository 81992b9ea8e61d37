//! `garland net`: the network of a topology, before and after it is cabled.

mod bounds;
mod change;
mod config;
mod diff;
mod show;
mod size;
mod tables;
mod verify;

use garland_fleet::context::Context;
use garland_terminal::failure::{Exit, Failure};

use crate::args::NetCommand;

/// Runs a `garland net` command.
pub fn run(context: &Context, command: &NetCommand) -> Result<Exit, Failure> {
    match command {
        NetCommand::Show(show) => show::run(context, show),
        NetCommand::Size(size) => size::run(context, size),
        NetCommand::Config(config) => config::run(config),
        NetCommand::Verify(verify) => verify::run(context, verify),
    }
}
