//! `garland agent`: runs an agent; a hidden command for launchers.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use garland_agent::{AgentConfig, run_agent};
use garland_dataplane::Records;
use garland_protocol::{ClockFault, ReadyLine, content_digest};
use garland_sys::clock::{self, Skew};
use garland_sys::mptcp::Transport;

use garland_commands::args::Agent;
use garland_commands::background;
use garland_fleet::launch::own_binary;
use garland_results::places::Places;
use garland_terminal::failure::{Exit, Failure};

/// The name of the program.
const NAME: &str = "garland";

/// Runs an agent in this process until it ends, or in the background with `--detach`.
pub fn run(agent: &Agent) -> Result<Exit, Failure> {
    if agent.detach {
        return detach(agent);
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
    if let Some(fault) = agent.clock {
        let ClockFault { offset_ns, drift_ppb, step } = fault;
        clock::skew(Skew { offset_ns, drift_ppb, step });
    }
    let places = Places::open().ok();
    let config = AgentConfig {
        root: agent.root.clone(),
        controllers: agent
            .controller
            .iter()
            .map(|text| {
                parse_key(text)
                    .ok_or_else(|| Failure::usage("a key must have 64 hexadecimal digits"))
            })
            .collect::<Result<_, _>>()?,
        port: agent.port,
        keys: None,
        stay: agent.stay.map(Duration::from_secs),
        disk: agent.disk,
        records: places.as_ref().map_or_else(Records::default, Places::records),
        names: places.as_ref().and_then(|places| names(places, agent.root.as_deref())),
        transport: Transport::mptcp_if(agent.mptcp),
    };
    run_agent(config).map_err(Failure::nothing)?;
    Ok(Exit::Done)
}

/// Returns the directory of the names that the agent with this root keeps: agents of one machine have one each. A root
/// that was removed and made again, such as that of a lab, is another one.
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

/// Executes the program again as `garland`, which `ps` then shows, unless it was started by this name:
/// launchers start it by a descriptor.
fn take_name() {
    let mut words = std::env::args_os();
    let program = words.next().map(PathBuf::from);
    let has_name = |program: &PathBuf| program.file_name().is_some_and(|name| name == NAME);
    if !program.as_ref().is_some_and(has_name) {
        // If this fails, the agent runs under the name that it has.
        let _ = Command::new(own_binary()).arg0(NAME).args(words).exec();
    }
}

/// Starts the agent with the same arguments as a background process, prints its ready line and
/// returns, so that an ssh that launched it ends.
fn detach(agent: &Agent) -> Result<Exit, Failure> {
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--detach");
    let path = match &agent.log {
        Some(path) => path.clone(),
        None => own_log()?,
    };
    let (_, line) = background::start(arguments, &path)?;
    let Some(mut ready) = ReadyLine::parse(&line) else {
        let log = path.display();
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

fn parse_key(text: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(key)
}
