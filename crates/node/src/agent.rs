//! `garland agent`: runs an agent in this process or in the background.

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use garland_agent::{AgentConfig, run_agent};
use garland_core::printable;
use garland_dataplane::block_index::Records;
use garland_protocol::copy::{ClockFault, content_digest};
use garland_protocol::wire::ReadyLine;
use garland_state::background;
use garland_state::places::Places;
use garland_sys::clock::{self, Skew};
use garland_sys::inherited;
use garland_sys::mptcp::Transport;
use garland_terminal::failure::{Exit, Failure};

use crate::arguments::Arguments;

/// The name of the program.
const NAME: &str = "garland";

/// Runs the agent that `words` describe until it ends, or in the background with `--detach`.
pub fn run(words: &[OsString]) -> Result<Exit, Failure> {
    let arguments = Arguments::parse(words)?;
    if arguments.detach {
        return detach(&arguments);
    }
    take_name();
    // The launcher may have checked the program and then started it through a file descriptor.
    // Commands must not inherit this descriptor, and the process must show the program's name.
    garland_sys::process::keep_inherited_descriptors();
    let _ = std::fs::write("/proc/self/comm", NAME);
    // Ctrl-C on the terminal is for the command that started this agent; that command then shuts
    // the agent down cleanly. The call fails if the process already leads a session, which has the
    // same effect.
    let _ = garland_sys::process::leave_session();
    // Nobody's terminal reaches it from here on, and the commands of others are not to ignore
    // signals because the one that started it was to outlast its terminal.
    inherited::stop_ignoring();
    if let Some(fault) = arguments.clock {
        let ClockFault { offset_ns, drift_ppb, step } = fault;
        clock::skew(Skew { offset_ns, drift_ppb, step });
    }
    let places = Places::open().ok();
    let root = arguments.config.root.as_deref();
    let names = places.as_ref().and_then(|places| names(places, root));
    let cluster_key = match (root, &names) {
        // Agents of one machine have one each.
        (Some(_), Some(names)) => Some(names.with_extension("key")),
        _ => places.as_ref().map(Places::cluster_key),
    };
    let mut reached = arguments.config.reached.clone();
    if arguments.config.transport == Transport::Mptcp && !reached.is_empty() {
        reached.extend(announced());
    }
    let config = AgentConfig {
        reached,
        records: places.as_ref().map_or_else(Records::default, Places::records),
        names,
        cluster_key,
        ..arguments.config
    };
    run_agent(config).map_err(Failure::nothing)?;
    Ok(Exit::Done)
}

/// Returns the addresses that this node announces to the peers of its MPTCP connections, which
/// connect to them, too.
fn announced() -> Vec<IpAddr> {
    let output = Command::new("ip").args(["mptcp", "endpoint", "show"]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    signalled(&text.unwrap_or_default())
}

/// Returns the addresses with the flag `signal` in the output of `ip mptcp endpoint show`.
fn signalled(text: &str) -> Vec<IpAddr> {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let announced = lines.filter(|words| words.contains(&"signal"));
    announced.filter_map(|words| words.first()?.parse().ok()).collect()
}

/// Returns the directory of the names that the agent with this root keeps: agents of one machine
/// have one each. A root that was removed and made again, such as that of a lab, is another one.
fn names(places: &Places, root: Option<&Path>) -> Option<PathBuf> {
    let identity = root.map_or_else(String::new, |root| {
        let stat = root.metadata().ok();
        let created = stat.as_ref().and_then(|stat| stat.created().ok());
        format!("{root:?} {:?} {created:?}", stat.map(|stat| (stat.dev(), stat.ino())))
    });
    let digest = content_digest(identity.as_bytes());
    let own: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    Some(places.folder("names").ok()?.join(own))
}

/// Executes the program again as `garland`, which `ps` then shows, unless it was started by this
/// name: launchers start it by a descriptor.
fn take_name() {
    let mut words = std::env::args_os();
    let program = words.next().map(PathBuf::from);
    let has_name = |program: &PathBuf| program.file_name().is_some_and(|name| name == NAME);
    if !program.as_ref().is_some_and(has_name) {
        // If this fails, the agent runs under the name that it has.
        let _ = Command::new(background::PROGRAM).arg0(NAME).args(words).exec();
    }
}

/// Starts the agent with the same arguments as a background process, prints its ready line and
/// returns, so that an ssh that launched it ends.
fn detach(arguments: &Arguments) -> Result<Exit, Failure> {
    let words = std::env::args_os().skip(1).filter(|word| word != "--detach");
    let path = match &arguments.log {
        Some(path) => path.clone(),
        None => own_log()?,
    };
    let (_, line) = background::start(words, &path)?;
    let Some(mut ready) = ReadyLine::parse(&line) else {
        let log = printable::path(&path);
        return Err(Failure::nothing(format!("the agent ended before it was ready; see {log}")));
    };
    ready.log = Some(path);
    garland_terminal::outln!("{ready}");
    Ok(Exit::Done)
}

/// Creates a log below Garland's state directory, removes old logs except the newest ones, and
/// returns the path of the new log.
fn own_log() -> Result<PathBuf, Failure> {
    const KEPT: usize = 50;
    let directory = Places::open()?.folder("agents")?;
    let mut old: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    old.sort();
    for (_, path) in &old[..old.len().saturating_sub(KEPT)] {
        // An old log that cannot be removed does no harm.
        let _ = std::fs::remove_file(path);
    }
    Ok(directory.join(background::log_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_addresses_are_those_with_the_flag() {
        let text = "10.0.1.2 id 1 signal dev eth1 \n10.0.2.2 id 2 subflow dev eth2 \nfd00::2 id 3 subflow signal \n";
        assert_eq!(
            signalled(text),
            ["10.0.1.2", "fd00::2"].map(|text| text.parse::<IpAddr>().unwrap())
        );
        assert!(signalled("Object \"mptcp\" is unknown").is_empty());
    }
}
