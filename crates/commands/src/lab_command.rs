//! `garland lab`: an emulated cluster on this machine.

use std::ffi::OsString;
use std::process::Child;

use garland_core::units::{Nanos, Rate};
use garland_fleet::context::Context;
use garland_fleet::inventory::LAB_PREFIX;
use garland_fleet::launch::lab::state;
use garland_fleet::standing::RecordDir;
use garland_lab::check::Report;
use garland_lab::{DelayBy, Lab, Spec, plan};
use garland_results::head::{Head, Phases, print_json, show};
use garland_state::places::Places;
use garland_sys::identity::{self, Signal};
use garland_sys::signal::{self, Interrupts};
use garland_sys::threads;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use garland_topology::scenarios;

use super::lab_result::{DownResult, StatusResult, UpResult};
use super::lab_run::{self, CHECK_INTERVAL, code_of};
use crate::args::{LabCommand, What};

/// Runs a `garland lab` command.
pub fn run(context: &Context, command: &LabCommand) -> Result<Exit, Failure> {
    match command {
        LabCommand::Up { what, check, dry_run } => {
            let wanted = spec(what)?;
            if *dry_run {
                // The lab's own delay line, where it is needed, is no command.
                let commands = plan::steps(&wanted, DelayBy::Netem);
                let shown: String = commands.iter().map(|step| format!("{step}\n")).collect();
                output::print(shown)?;
                return Ok(Exit::Done);
            }
            up(context, wanted, *check)
        }
        LabCommand::Run { what, check, command } => {
            lab_run::run(context, spec(what)?, *check, command)
        }
        LabCommand::Status => status(context),
        LabCommand::Exec { lab, node, command } => exec(lab, node, command),
        LabCommand::Down { lab } => down(context, lab),
    }
}

/// Returns the specification of the lab, and prints its warnings.
///
/// # Errors
/// When such a lab cannot be built.
fn spec(what: &What) -> Result<Spec, Failure> {
    let lab = what.lab.as_str();
    let roots = what.roots.clone();
    let rate = what.rate.as_deref().map(str::parse::<Rate>).transpose();
    let rate = rate?.map(|rate| rate.bits_per_second());
    let delay = what.delay.as_deref().map(str::parse::<Nanos>).transpose()?;
    let faults = what.fault.iter().map(|fault| fault.parse()).collect::<Result<Vec<_>, _>>();
    let faults = faults?;
    let spec = match (&what.topology, what.nodes) {
        (Some(argument), _) => {
            Spec { name: lab.to_owned(), topology: scenarios::load(argument)?, roots, faults }
        }
        (None, Some(nodes)) => {
            let plain = Spec::switch(lab, nodes, rate).delayed(delay.unwrap_or_default());
            Spec { roots, faults, ..plain }
        }
        (None, None) => {
            return Err(Failure::usage("nothing to emulate: specify a topology or --nodes"));
        }
    };
    spec.validate().map_err(Failure::usage)?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    spec.cautions(cpus).iter().for_each(|caution| garland_terminal::errln!("caution: {caution}"));
    Ok(spec)
}

fn up(context: &Context, spec: Spec, check: bool) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let lab = Lab::up(&state(&Places::open()?)?, spec)?;
    let took = phases.end("build");
    if !context.json {
        let name = lab.name();
        let head = lab.head();
        let others = lab.others();
        let took = Nanos(took);
        let line = format!("{name} is up in {took}: the head {head} and lab:{others}\n");
        output::print(line).map_err(|failure| failure.after(Exit::Done))?;
    }
    let report = check.then(|| lab.check()).transpose()?;
    if check {
        phases.end("check");
    }
    let exit = if report.as_ref().is_none_or(Report::holds) { Exit::Done } else { Exit::Fault };
    let status = lab.status()?;
    let head = Head::new("garland.lab-up/2", None, phases);
    let result = UpResult { head, lab: status, check: report };
    let told = if context.json { print_json(&result) } else { output::print(result.checks()) };
    told.map_err(|failure| failure.after(exit))?;
    Ok(exit)
}

fn status(context: &Context) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let records = state(&Places::open()?)?;
    let mut labs = Vec::new();
    for record in records.list()? {
        if let Ok(lab) = Lab::open(&records, &record.spec.name) {
            labs.push(lab.status()?);
        }
    }
    phases.end("ask");
    let result = StatusResult { head: Head::new("garland.lab-status/2", None, phases), labs };
    show(context.json, &result)?;
    Ok(Exit::Done)
}

fn exec(lab: &str, node: &str, words: &[OsString]) -> Result<Exit, Failure> {
    let lab = Lab::open(&state(&Places::open()?)?, lab)?;
    let (program, words) =
        words.split_first().ok_or_else(|| Failure::usage("no command is given"))?;
    let node = node.strip_prefix(LAB_PREFIX).unwrap_or(node);
    let requests = Interrupts::catch_requests().or_nothing("cannot catch signals")?;
    let mut command = lab.command(node, program)?;
    signal::release_in(command.args(words));
    let child = command.spawn();
    let child = child.or_nothing(format!("cannot start {}", program.to_string_lossy()))?;
    Ok(Exit::Code(wait(child, &requests)?))
}

/// Waits for the command and returns its exit code. A request to end is passed on; a second one
/// kills the command. Ctrl-C reaches the command by itself, which may go on after it.
fn wait(mut child: Child, requests: &Interrupts) -> Result<u8, Failure> {
    let mut is_asked = false;
    loop {
        if let Some(status) = child.try_wait().or_nothing("cannot wait for the command")? {
            return Ok(code_of(status));
        }
        if requests.pending() {
            let signal = if is_asked { Signal::KILL } else { Signal::TERM };
            is_asked = true;
            // The command may have ended just now; the next look notices this.
            let _ = identity::signal(child.id(), signal);
        }
        threads::sleep(CHECK_INTERVAL);
    }
}

fn down(context: &Context, name: &str) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let was_up = Lab::end(&state(&places)?, name)?;
    RecordDir::open(&places, Some(name))?.clear();
    phases.end("end");
    let head = Head::new("garland.lab-down/2", None, phases);
    let result = DownResult { head, lab: name.to_owned(), was_up };
    show(context.json, &result)?;
    Ok(Exit::Done)
}
