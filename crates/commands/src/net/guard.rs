//! An installation with a deadline: a process of its own does it, waits for the confirmation, and
//! undoes it when none comes. It has no terminal, so it outlives the login that a wrong
//! configuration cuts off.

use std::fs::OpenOptions;
use std::io::{BufRead, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::signal::Interrupts;
use garland_sys::{clock, process, threads};
use garland_topology::config::{Format, NodeConfig};

use super::change::Change;
use super::installation::{Installation, Record, Stage};
use super::kernel::Before;
use super::program::{Command as Program, find};
use super::tool::{self, DevicesPresent};
use crate::args::NetConfig;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// How often a stage is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The shortest and longest wait for a confirmation.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(3600);

/// Installs `changes`. Below another root than `/` files are written and no more.
pub fn install(
    options: &NetConfig,
    format: Format,
    config: &NodeConfig,
    changes: Vec<Change>,
) -> Result<Exit, Failure> {
    if options.root != Path::new("/") {
        for change in &changes {
            change.make()?;
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
    child.arg0("garland").args(["net", "guard"]).arg(installation.folder());
    // Its input is the lock, which it holds to its end.
    child.stdin(lock).stdout(Stdio::null()).stderr(log).current_dir("/");
    child.spawn().or_nothing("starting the process that guards the installation")?;
    drop(child); // It has the lock too.
    follow(&installation, patience)
}

fn may_install(format: Format) -> Result<(), Failure> {
    if process::user_id() != 0 {
        return Err(Failure::usage("only root may change this machine's network")
            .hint("run it with sudo, or write the files elsewhere with --root or --output"));
    }
    let (programs, package) = tool::needs(format);
    match programs.iter().find(|program| find(program).is_none()) {
        None => Ok(()),
        Some(program) => {
            Err(Failure::usage(format!("{} needs {program}, which isn't here", format.name()))
                .hint(format!("on Debian it is in the package {package}")))
        }
    }
}

fn patience(text: &str) -> Result<Duration, Failure> {
    let wrong = |why: String| {
        Failure::usage(format!("--confirm-within {text}: {why}"))
            .hint("say something from 2s to 1h, such as 60s or 5min")
    };
    let duration: jiff::SignedDuration = text.parse().map_err(|error| wrong(format!("{error}")))?;
    let duration =
        Duration::try_from(duration).map_err(|_| wrong("it is below zero".to_owned()))?;
    if (SHORTEST..=LONGEST).contains(&duration) {
        Ok(duration)
    } else {
        Err(wrong("it is too short or too long".to_owned()))
    }
}

/// Tells how an installation goes, and confirms it when the user presses Enter.
fn follow(installation: &Installation, patience: Duration) -> Result<Exit, Failure> {
    let mut told = false;
    let entered = Arc::new(AtomicBool::new(false));
    // The process that was started can't be slower than this unless it is gone.
    let end = clock::boot_ns() + 2 * LONGEST.as_nanos() as u64;
    while clock::boot_ns() < end {
        match installation.stage() {
            Some(Stage::Pending) if !told => {
                told = true;
                let seconds = patience.as_secs();
                if std::io::stdin().is_terminal() {
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
                    installation.reason().unwrap_or_else(|| "for no known reason".to_owned());
                return Err(Failure::nothing(format!("undone: {reason}")));
            }
            _ => {}
        }
        if installation.is_deserted()? {
            let log = installation.log();
            return Err(Failure::nothing("the process that guards the installation is gone").hint(
                format!("its complaints are in {}, the old files beside it", log.display()),
            ));
        }
        std::thread::sleep(LOOK);
    }
    Err(Failure::nothing("the installation came to no end"))
}

fn read_enter(entered: Arc<AtomicBool>) -> Result<(), Failure> {
    let begun = threads::spawn("enter", move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        entered.store(read.is_ok_and(|read| read > 0), Ordering::Relaxed);
    });
    begun.map(drop).or_nothing("waiting for Enter (`garland net confirm` keeps it as well)")
}

/// The process that guards: installs, waits, and undoes unless it is confirmed.
pub fn run(folder: &Path) -> Result<Exit, Failure> {
    // The login's end must not end this, nor its terminal's Ctrl-C.
    let _ = process::leave_session();
    let interrupts = Interrupts::catch().or_nothing("catching signals")?;
    let installation = Installation::at(folder);
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
        std::thread::sleep(LOOK);
    }
    if installation.go(Stage::Pending, Stage::Undoing)? {
        return undo(&installation, &record, &reason);
    }
    Ok(Exit::Done)
}

fn make(record: &Record) -> Result<(), Failure> {
    record.let_go.iter().try_for_each(Program::run)?;
    record.changes.iter().try_for_each(Change::make)?;
    record.apply.iter().try_for_each(Program::run)
}

/// Puts back what was there: as much as can be, whatever fails.
fn undo(installation: &Installation, record: &Record, reason: &str) -> Result<Exit, Failure> {
    let mut complaints = Vec::new();
    let mut complain = |outcome: Result<(), Failure>| {
        complaints.extend(outcome.err().map(|failure| failure.message().to_owned()));
    };
    record.let_go.iter().for_each(|command| complain(command.run()));
    record.changes.iter().for_each(|change| complain(change.undo()));
    record.before.restore_settings();
    record.go_back.iter().for_each(|command| complain(command.run()));
    match record.format() {
        // No daemon puts right what these don't know.
        Some(Format::Ifupdown | Format::Iproute2) | None => {
            record.before.restore().iter().for_each(|command| complain(command.run()));
        }
        Some(Format::Networkd | Format::Netplan | Format::NetworkManager) => {
            for bond in record.before.new_devices() {
                let delete = Program::new("ip", ["link", "delete", "dev", bond]);
                complain(delete.may_fail().run());
            }
        }
    }
    let mut whole = reason.to_owned();
    if !complaints.is_empty() {
        whole = format!("{whole}; and putting back: {}", complaints.join("; "));
    }
    garland_terminal::errln!("undone: {whole}");
    installation.keep_reason(&whole);
    installation.go(Stage::Undoing, Stage::Undone)?;
    Ok(Exit::Nothing)
}
