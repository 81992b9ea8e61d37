//! `garland lab run`: builds a lab, runs one command, and tears the lab down.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use garland_core::units::Nanos;
use garland_fleet::args::LAB_VARIABLE;
use garland_fleet::context::Context;
use garland_fleet::launch::lab::state;
use garland_fleet::standing::RecordDir;
use garland_lab::check::Report;
use garland_lab::{DelayCounters, Lab, Spec};
use garland_results::head::{Head, Phases, print_json};
use garland_state::places::Places;
use garland_sys::clock;
use garland_sys::identity::{self, Signal};
use garland_sys::process;
use garland_sys::signal::{self, Interrupts};
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

use super::lab_result::RunResult;

/// Interval between checks for the command's end and for interrupts.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// How long an interrupted command may continue before it gets SIGTERM, in nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;

/// How the check and the command ended.
#[derive(Default)]
struct Outcome {
    check: Option<Report>,
    code: Option<u8>,
    interrupted: bool,
    /// What the lab's own delay line did while the command ran.
    delay: Option<DelayCounters>,
}

/// Builds the lab, checks it if `check` is set, runs the command, and tears the lab down.
pub fn run(
    context: &Context,
    spec: Spec,
    check: bool,
    command: &[OsString],
) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let interrupts = Interrupts::catch().or_nothing("cannot catch interrupts")?;
    let places = Places::open()?;
    let up = Lab::up_meanwhile(&state(&places)?, spec, Vec::new());
    let (lab, warden) = up?;
    let name = lab.name().to_owned();
    let took = phases.end("build");
    if !context.json {
        let head = lab.head();
        let others = lab.others();
        let took = Nanos(took);
        garland_terminal::errln!("{name} is up in {took}: the head {head} and lab:{others}");
    }
    let outcome = check_and_run(context, &lab, check, command, &interrupts, &mut phases);
    // The lab is torn down in any case. If that fails too, the first error is the one reported.
    let ended = lab.down().map_err(Failure::nothing);
    if ended.is_ok() {
        warden.dismiss();
    }
    RecordDir::open(&places, Some(&name))?.clear();
    phases.end("teardown");
    let Outcome { check, code, interrupted, delay } = outcome?;
    ended?;
    let void = delay.as_ref().and_then(DelayCounters::void);
    if let Some(void) = &void {
        garland_terminal::errln!("{void}");
    }
    let exit = match (&check, code) {
        (Some(report), _) if !report.holds() => Exit::Fault,
        // A failure of the command is more to the point.
        (_, Some(0)) if void.is_some() => Exit::Fault,
        (_, Some(code)) => Exit::Code(code),
        _ if interrupted => Exit::Interrupted,
        _ => Exit::Done,
    };
    if context.json {
        let head = Head::new("garland.lab-run/2", None, phases);
        print_json(&RunResult { head, lab: name, check, code, delay, void })?;
    }
    Ok(exit)
}

fn check_and_run(
    context: &Context,
    lab: &Lab,
    check: bool,
    command: &[OsString],
    interrupts: &Interrupts,
    phases: &mut Phases,
) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    if check {
        let report = lab.check()?;
        phases.end("check");
        if !context.json {
            output::print(&report)?;
        }
        let holds = report.holds();
        outcome.check = Some(report);
        if !holds {
            return Ok(outcome);
        }
    }
    outcome.interrupted = interrupts.pending();
    if let (Some((program, words)), false) = (command.split_first(), outcome.interrupted) {
        let mut command = Command::new(program);
        let before = lab.delay_counters()?;
        signal::release_in(command.args(words).env(LAB_VARIABLE, lab.name()));
        process::end_with_parent(&mut command);
        let child = command.spawn();
        let child = child.or_nothing(format!("cannot start {}", program.to_string_lossy()))?;
        outcome.code = Some(wait(child, interrupts)?);
        let after = lab.delay_counters()?;
        outcome.delay = after.zip(before).map(|(after, before)| after.since(&before));
        phases.end("command");
    }
    Ok(outcome)
}

/// Waits for the command and returns its exit code. Ctrl-C reaches all foreground processes of the
/// terminal, so the command gets it too; a signal to this process alone is passed on as SIGTERM
/// after a second, and a second signal kills the command.
fn wait(mut child: Child, interrupts: &Interrupts) -> Result<u8, Failure> {
    let mut asked = None;
    loop {
        if let Some(status) = child.try_wait().or_nothing("cannot wait for the command")? {
            return Ok(code_of(status));
        }
        let signal = match (interrupts.pending(), asked) {
            (true, None) => {
                asked = Some(clock::now_ns() + PATIENCE_NS);
                None
            }
            (true, Some(_)) => Some(Signal::KILL),
            (false, Some(at)) if clock::now_ns() > at => {
                asked = Some(u64::MAX);
                Some(Signal::TERM)
            }
            (false, _) => None,
        };
        if let Some(signal) = signal {
            // The command may have ended just now; the next check of the loop notices this.
            let _ = identity::signal(child.id(), signal);
        }
        garland_sys::threads::sleep(CHECK_INTERVAL);
    }
}

/// Returns a command's exit status as shells report it: its exit code, or 128 plus the signal that
/// ended it.
pub fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(255)
}
