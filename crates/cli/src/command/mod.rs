//! The commands, one file each.

mod again;
mod agent;
mod balance;
mod chain;
mod checksums;
mod copy_result;
mod cp;
mod cp_in;
mod cp_options;
mod demo;
mod disk;
mod disk_notes;
mod disk_result;
mod disk_tables;
mod down;
mod elsewhere;
mod ends;
mod exec;
mod explain;
mod farm;
mod farm_compare;
pub mod farm_result;
mod forecast;
mod gather;
mod given;
mod injections;
mod join;
mod lab;
mod lab_result;
mod lab_run;
mod mount;
mod net;
mod ping;
mod plan;
mod reference;
mod report;
mod scenario;
mod shape;
mod shell;
mod standing_result;
mod status;
mod tcp_account;
mod top;
mod trace;
mod tree_result;
mod up;
mod wires;

use crate::args::{Args, Command, LabCommand, NetCommand, TraceCommand};
use crate::failure::{Exit, Failure};

/// Does what the user asked for.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    if args.json && !has_result(&args.command) {
        return Err(Failure::usage("this command has no result object")
            .hint("leave --json out; those that have one are in docs/results.md"));
    }
    match &args.command {
        Command::Cp(cp) => cp::run(args, cp),
        Command::Exec(exec) => exec::run(args, exec),
        Command::Wires(wires) => wires::run(args, wires),
        Command::Ping(ping) => ping::run(args, ping),
        Command::Disk(disk) => disk::run(args, disk),
        Command::Farm(farm) => farm::run(args, farm),
        Command::Explain(asked) => explain::run(args, asked),
        Command::Balance(balance) => balance::run(args, balance),
        Command::Forecast(asked) => forecast::run(args, asked),
        Command::Report(asked) => report::run(args, asked),
        Command::Plan(plan) => plan::run(args, &plan.command),
        Command::Up(up) => up::run(args, up),
        Command::Down(nodes) => down::run(args, nodes),
        Command::Status(status) => status::run(args, status),
        Command::Top(top) => top::run(args, top),
        Command::Mount(mount) => mount::run(args, mount),
        Command::Trace(trace) => trace::run(args, &trace.command),
        Command::Lab(lab) => lab::run(args, &lab.command),
        Command::Net(net) => net::run(args, &net.command),
        Command::Scenario(scenario) => scenario::run(args, &scenario.command),
        Command::Demo(demo) => demo::run(demo),
        Command::Agent(agent) => agent::run(agent),
        Command::Completions { shell } => shell::completions(*shell),
        Command::Man(man) => shell::manual(man),
    }
}

/// Whether `--json` means something to a command.
fn has_result(command: &Command) -> bool {
    match command {
        Command::Lab(lab) => match &lab.command {
            LabCommand::Up { dry_run, .. } => !dry_run,
            // A command's own output and the result would be one muddle.
            LabCommand::Run { command, .. } => command.is_empty(),
            LabCommand::Status | LabCommand::Down { .. } => true,
            LabCommand::Exec { .. } => false,
        },
        Command::Cp(_)
        | Command::Exec(_)
        | Command::Wires(_)
        | Command::Ping(_)
        | Command::Disk(_)
        | Command::Explain(_)
        | Command::Farm(_)
        | Command::Forecast(_)
        | Command::Plan(_)
        | Command::Report(_)
        | Command::Balance(_)
        | Command::Up(_)
        | Command::Down(_)
        | Command::Status(_)
        | Command::Scenario(_) => true,
        Command::Net(net) => {
            matches!(net.command, NetCommand::Show(_) | NetCommand::Size(_) | NetCommand::Verify(_))
        }
        Command::Mount(mount) => mount.status,
        // Without a file the bytes themselves are on standard output.
        Command::Trace(trace) => match &trace.command {
            TraceCommand::Export(export) => export.output.is_some(),
        },
        Command::Demo(_)
        | Command::Top(_)
        | Command::Agent(_)
        | Command::Completions { .. }
        | Command::Man(_) => false,
    }
}
