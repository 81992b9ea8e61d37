//! `garland agent`: hidden; the launchers start it.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use garland_node::{AgentConfig, RelayPath, run_agent};

use crate::args::{Agent, RelayName};
use crate::failure::{Exit, Failure, OrFailure};
use crate::launch::local::own_binary;

/// Runs an agent until it has nothing more to do.
pub fn run(agent: &Agent) -> Result<Exit, Failure> {
    if let Some(log) = &agent.detach {
        return detach(log);
    }
    // The terminal's Ctrl-C is for the command that started this agent, which then says goodbye
    // properly. A process that leads a session already can't leave it, and needn't.
    let _ = garland_sys::process::leave_session();
    let config = AgentConfig {
        root: agent.root.clone(),
        controllers: agent
            .controller
            .iter()
            .map(|text| parse_key(text).ok_or_else(|| Failure::usage("a key has 64 hex digits")))
            .collect::<Result<_, _>>()?,
        port: agent.port,
        keys: None,
        stay: agent.stay.map(Duration::from_secs),
        path: match agent.relay {
            RelayName::Splice => RelayPath::Splice,
            RelayName::Copy => RelayPath::Copy,
        },
    };
    run_agent(config).map_err(Failure::nothing)?;
    Ok(Exit::Done)
}

/// Starts the same agent in a process that nobody waits for, passes its ready line on, and ends: a
/// launching ssh ends with it.
fn detach(log: &Path) -> Result<Exit, Failure> {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--detach") {
        arguments.drain(at..(at + 2).min(arguments.len()));
    }
    let log =
        OpenOptions::new().create(true).append(true).open(log).or_nothing("opening the log")?;
    let mut child = Command::new(own_binary())
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .or_nothing("starting the agent")?;
    let mut line = String::new();
    let output = child.stdout.take().ok_or_else(|| Failure::nothing("the agent is mute"))?;
    BufReader::new(output).read_line(&mut line).or_nothing("reading the agent's ready line")?;
    if line.is_empty() {
        return Err(Failure::nothing("the agent ended before it was ready"));
    }
    print!("{line}");
    Ok(Exit::Done)
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
