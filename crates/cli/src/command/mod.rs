//! Dispatches the parsed command line to the commands.

use garland_commands::args::{LabCommand, NetCommand, TraceCommand};
use garland_commands::cp::Cp;
use garland_commands::cp::resume::{reporting, words};
use garland_commands::{
    cp, down, exec, explain, forecast, key, lab_command, mount_command, net, plan, report, runs,
    status, trace, up,
};
use garland_control::program;
use garland_core::printable;
use garland_experiments::{command as scenario, demo};
use garland_farm::run as farm;
use garland_fleet::context::Context;
use garland_measure::{balance, disk, doctor, ping, wires};
use garland_names::{get, hand_over, list as names, publish, returned, unpublish};
use garland_terminal::failure::{Exit, Failure, OrFailure};

use crate::args::{Args, Command};
use crate::{completion, shell, top};

/// Runs the command that was parsed; refuses `--json` for a command without a result object.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    if args.context.json && !has_result(&args.command) {
        return Err(Failure::usage("cannot use --json: this command has no result object")
            .hint("omit --json; docs/results.md lists the commands with result objects"));
    }
    let context = &args.context;
    match &args.command {
        Command::Cp(cp) => match &cp.resume {
            Some(run) => resume(context, cp, run),
            None => cp::run(context, cp),
        },
        Command::Exec(exec) => exec::run(context, exec),
        Command::Wires(wires) => wires::run(context, wires),
        Command::Ping(ping) => ping::run(context, ping),
        Command::Disk(disk) => disk::run(context, disk),
        Command::Farm(farm) => farm::run(context, farm),
        Command::Explain(asked) => explain::run(context, asked),
        Command::Doctor(doctor) => doctor::run(context, doctor),
        Command::Balance(balance) => balance::run(context, balance),
        Command::Forecast(asked) => forecast::run(context, asked),
        Command::Report(asked) => report::run(context, asked),
        Command::Runs(asked) => runs::run(context, asked),
        Command::Plan(plan) => plan::run(context, plan),
        Command::Up(up) => up::run(context, up, &returned::tell_ended),
        Command::Publish(asked) => publish::run(context, asked),
        Command::Get(asked) => get::run(context, asked),
        Command::Names(asked) => names::run(context, asked),
        Command::Unpublish(asked) => unpublish::run(context, asked),
        Command::Down(nodes) => {
            hand_over::before(context, nodes.which.nodes.as_deref(), nodes.lose_names)?;
            down::run(context, nodes)
        }
        Command::Status(status) => status::run(context, status),
        Command::Key(asked) => key::run(context, asked),
        Command::Top(top) => top::run(context, top),
        Command::Mount(mount) => mount_command::run(context, mount),
        Command::Trace(trace) => trace::run(context, trace),
        Command::Lab(lab) => lab_command::run(context, lab),
        Command::Net(net) => net::run(context, net),
        Command::Scenario(scenario) => scenario::run(context, &scenario.command, report::of_runs),
        Command::Demo(demo) => demo::run(demo),
        Command::Carry { node, output } => {
            let what = format!(
                "cannot write {} with {} in it",
                printable::path(output),
                printable::path(node)
            );
            program::carry(node, output).or_nothing(what).map(|()| Exit::Done)
        }
        Command::Completions { shell } => completion::script(*shell),
        Command::Man(man) => shell::manual(man),
    }
}

/// Goes on with the copy of `run`: starts it again by its own command line.
fn resume(context: &Context, asked: &Cp, run: &str) -> Result<Exit, Failure> {
    let again = Args::parse_words(words(asked, run)?).map_err(|error| {
        let message = format!("cannot resume {run}: this release refuses its command line");
        Failure::usage(message).hint(error.to_string().trim_end())
    })?;
    let json = context.json || again.context.json;
    let context = Context { json, ..again.context };
    match again.command {
        Command::Cp(copy) => cp::run(&context, &reporting(*copy, asked)),
        Command::Get(mut get) => {
            get.quiet |= asked.run.quiet;
            get.progress = asked.run.progress.or(get.progress);
            get::run(&context, &get)
        }
        _ => Err(Failure::usage(format!("cannot resume {run}: it is no run of cp or get"))
            .hint(format!("for the run of a farm: garland farm run --resume {run}"))),
    }
}

/// Returns whether a command has a result object, which `--json` prints.
fn has_result(command: &Command) -> bool {
    match command {
        // The command writes to standard output too, so its output would be mixed with the result.
        Command::Lab(LabCommand::Run { command, .. }) => command.is_empty(),
        Command::Lab(LabCommand::Up { dry_run, .. }) => !dry_run,
        // Without a file, the export is written to standard output.
        Command::Trace(TraceCommand::Export(export)) => export.output.is_some(),
        Command::Mount(mount) => mount.status,
        Command::Lab(LabCommand::Exec { .. })
        | Command::Net(NetCommand::Config(_))
        | Command::Demo(_)
        | Command::Top(_)
        | Command::Carry { .. }
        | Command::Completions { .. }
        | Command::Man(_) => false,
        _ => true,
    }
}
