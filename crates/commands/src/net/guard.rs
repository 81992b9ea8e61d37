//! Installs a configuration with a deadline: a separate process, the guard, installs it, waits for the
//! confirmation, and undoes it if none comes. The guard has no terminal, so it outlives a login session that
//! a wrong configuration cuts off.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::signal::Interrupts;
use garland_sys::{clock, inherited, process, terminal, threads};
use garland_topology::config::{Format, NodeConfig};

use super::change::Change;
use super::installation::{Installation, Record, Stage};
use super::kernel::Before;
use super::program::{Command as Program, find};
use super::tool::{self, DevicesPresent};
use crate::args::NetConfig;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// Interval between checks of the stage.
const POLL: Duration = Duration::from_millis(50);

/// The shortest and longest wait for a confirmation.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(3600);

/// Installs `changes`. If the root is not `/`, files are written and nothing is applied.
pub fn install(
    options: &NetConfig,
    format: Format,
    config: &NodeConfig,
    changes: Vec<Change>,
) -> Result<Exit, Failure> {
    if options.root != Path::new("/") {
        for change in &changes {
            change.apply()?;
            garland_terminal::outln!("{change}");
        }
        return Ok(Exit::Done);
    }
    let patience = patience(&options.confirm_within)?;
    may_install(format)?;
    let live = DevicesPresent::find(config)?;
    let was_up = tool::up_now(format, &live);
    let record = Record {
        format: format.name().to_owned(),
        changes,
        let_go: tool::let_go(format, config, &live),
        apply: tool::apply(format, config, &live),
        go_back: tool::go_back(format, &live, &was_up),
        before: Before::read(config, &live)?,
        live,
        patience_ns: u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX),
    };
    for change in &record.changes {
        garland_terminal::outln!("{change}");
    }
    let (installation, lock) = Installation::begin(&record)?;
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(installation.log());
    let log = log.or_nothing(format!("opening {}", installation.log().display()))?;
    let mut child = Command::new("/proc/self/exe");
    child.arg0("garland").args(["net", "guard"]).arg(installation.directory());
    // Its standard input is the lock, which it holds until it ends.
    child.stdin(lock).stdout(Stdio::null()).stderr(log).current_dir("/");
    child.spawn().or_nothing("starting the process that guards the installation")?;
    drop(child); // `Command` holds the lock's descriptor too.
    follow(&installation, patience)
}

fn may_install(format: Format) -> Result<(), Failure> {
    if process::user_id() != 0 {
        return Err(Failure::usage("only root may change this machine's network")
            .hint("run it with sudo, or write the files elsewhere with --root or --output-dir"));
    }
    let (programs, package) = tool::needs(format);
    match programs.iter().find(|program| find(program).is_none()) {
        None => Ok(()),
        Some(program) => Err(Failure::usage(format!(
            "{} needs {program}, which is not installed",
            format.name()
        ))
        .hint(format!("on Debian, install the package {package}"))),
    }
}

fn patience(text: &str) -> Result<Duration, Failure> {
    let wrong = |why: String| {
        Failure::usage(format!("--confirm-within {text}: {why}"))
            .hint("give a time from 2s to 1h, such as 60s or 5min")
    };
    let duration: jiff::SignedDuration = text.parse().map_err(|error| wrong(format!("{error}")))?;
    let duration = Duration::try_from(duration).map_err(|_| wrong("it is negative".to_owned()))?;
    if (SHORTEST..=LONGEST).contains(&duration) {
        Ok(duration)
    } else {
        Err(wrong("it is out of range".to_owned()))
    }
}

/// Reports the progress of an installation, and confirms it when the user presses Enter.
fn follow(installation: &Installation, patience: Duration) -> Result<Exit, Failure> {
    let mut announced = false;
    let entered = Arc::new(AtomicBool::new(false));
    // No installation takes longer than this unless its guard is stuck.
    let end = clock::boot_ns() + 2 * LONGEST.as_nanos() as u64;
    while clock::boot_ns() < end {
        match installation.stage() {
            Some(Stage::Pending) if !announced => {
                announced = true;
                let seconds = patience.as_secs();
                if terminal::input().is_some() {
                    garland_terminal::outln!(
                        "installed; press Enter within {seconds} s to keep it"
                    );
                    read_enter(Arc::clone(&entered))?;
                } else {
                    garland_terminal::outln!(
                        "installed; keep it with `garland net confirm` within {seconds} s"
                    );
                }
            }
            Some(Stage::Pending) if entered.load(Ordering::Relaxed) => {
                installation.go(Stage::Pending, Stage::Confirmed)?;
            }
            Some(Stage::Confirmed) => {
                garland_terminal::outln!("confirmed");
                return Ok(Exit::Done);
            }
            Some(Stage::Undone) => {
                let reason =
                    installation.reason().unwrap_or_else(|| "the guard left no reason".to_owned());
                return Err(Failure::nothing(format!("undone: {reason}")));
            }
            _ => {}
        }
        if installation.is_deserted()? {
            let log = installation.log();
            return Err(Failure::nothing(
                "the process that guards the installation has ended unexpectedly",
            )
            .hint(format!(
                "see its messages in {}; the former files are in record.json in the same directory",
                log.display()
            )));
        }
        threads::sleep(POLL);
    }
    Err(Failure::nothing("timed out waiting for the end of the installation"))
}

fn read_enter(entered: Arc<AtomicBool>) -> Result<(), Failure> {
    let begun = threads::spawn("enter", move || {
        let mut line = String::new();
        let read = inherited::input().and_then(|input| input.read_line(&mut line));
        entered.store(read.is_ok_and(|read| read > 0), Ordering::Relaxed);
    });
    begun.map(drop).or_nothing("waiting for Enter (use `garland net confirm` instead)")
}

/// Runs the guard: installs, waits, and undoes the installation unless it is confirmed.
pub fn run(directory: &Path) -> Result<Exit, Failure> {
    // Neither the end of the login session nor its Ctrl-C may end the guard.
    let _ = process::leave_session();
    let interrupts = Interrupts::catch().or_nothing("catching signals")?;
    let installation = Installation::at(directory);
    let record = installation.record()?;
    let deadline = match make(&record) {
        Ok(()) => {
            installation.go(Stage::Applying, Stage::Pending)?;
            clock::boot_ns().saturating_add(record.patience_ns)
        }
        Err(failure) => {
            installation.go(Stage::Applying, Stage::Undoing)?;
            return undo(&installation, &record, failure.message());
        }
    };
    let seconds = record.patience_ns / 1_000_000_000;
    let mut reason = format!("not confirmed within {seconds} s");
    while clock::boot_ns() < deadline && installation.stage() != Some(Stage::Confirmed) {
        if interrupts.pending() {
            "interrupted before it was confirmed".clone_into(&mut reason);
            break;
        }
        threads::sleep(POLL);
    }
    if installation.go(Stage::Pending, Stage::Undoing)? {
        return undo(&installation, &record, &reason);
    }
    Ok(Exit::Done)
}

fn make(record: &Record) -> Result<(), Failure> {
    record.let_go.iter().try_for_each(Program::run)?;
    record.changes.iter().try_for_each(Change::apply)?;
    record.apply.iter().try_for_each(Program::run)
}

/// Restores the former state: as much of it as possible, even if a part fails.
fn undo(installation: &Installation, record: &Record, reason: &str) -> Result<Exit, Failure> {
    let mut errors = Vec::new();
    let mut check = |outcome: Result<(), Failure>| {
        errors.extend(outcome.err().map(|failure| failure.message().to_owned()));
    };
    record.let_go.iter().for_each(|command| check(command.run()));
    record.changes.iter().for_each(|change| check(change.undo()));
    record.before.restore_settings();
    record.go_back.iter().for_each(|command| check(command.run()));
    match record.format() {
        // These tools have no daemon that restores addresses and routes.
        Some(Format::Ifupdown | Format::Iproute2) | None => {
            record.before.restore().iter().for_each(|command| check(command.run()));
        }
        Some(Format::Networkd | Format::Netplan | Format::NetworkManager) => {
            for bond in record.before.new_devices() {
                let delete = Program::new("ip", ["link", "delete", "dev", bond]);
                check(delete.may_fail().run());
            }
        }
    }
    let mut whole = reason.to_owned();
    if !errors.is_empty() {
        whole = format!("{whole}; errors while restoring: {}", errors.join("; "));
    }
    garland_terminal::errln!("undone: {whole}");
    installation.keep_reason(&whole);
    installation.go(Stage::Undoing, Stage::Undone)?;
    Ok(Exit::Nothing)
}
