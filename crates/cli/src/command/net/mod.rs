//! `garland net`: the network of a topology, before and after it is cabled.

mod bounds;
mod show;
mod size;
mod tables;

use crate::args::{Args, NetCommand};
use crate::failure::{Exit, Failure};

/// Does what the user asked of a network.
pub fn run(args: &Args, command: &NetCommand) -> Result<Exit, Failure> {
    match command {
        NetCommand::Show(show) => show::run(args, show),
        NetCommand::Size(size) => size::run(args, size),
    }
}
