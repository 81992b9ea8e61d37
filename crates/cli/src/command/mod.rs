//! The commands, one file each.

mod agent;
mod copy_result;
mod cp;
mod demo;
mod exec;
mod lab;
mod net;
mod scenario;
mod shell;
mod up;

use std::collections::BTreeMap;

use garland_core::cluster::nodelist;

use crate::args::{Args, Command};
use crate::failure::{Exit, Failure};

/// Does what the user asked for.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Command::Cp(cp) => cp::run(args, cp),
        Command::Exec(exec) => exec::run(args, exec),
        Command::Up(up) => up::up(args, up),
        Command::Down(nodes) => up::down(args, nodes),
        Command::Status(status) => up::status(args, status),
        Command::Lab(lab) => lab::run(args, &lab.command),
        Command::Net(net) => net::run(args, &net.command),
        Command::Scenario(scenario) => scenario::run(args, &scenario.command),
        Command::Demo(demo) => demo::run(demo),
        Command::Agent(agent) => agent::run(agent),
        Command::Completions { shell } => shell::completions(*shell),
        Command::Man => shell::manual(),
    }
}

/// Prints failures, equal ones folded: `failed  n[003,017]: no space left`.
fn fold_reasons(failures: impl Iterator<Item = (String, String)>) {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, reason) in failures {
        groups.entry(reason).or_default().push(name);
    }
    for (reason, names) in groups {
        eprintln!("failed  {}: {reason}", nodelist::fold(&names));
    }
}
