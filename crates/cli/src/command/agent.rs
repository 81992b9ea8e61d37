//! `garland agent`: hidden; the launchers start it.

use std::time::Duration;

use garland_node::{AgentConfig, RelayPath, run_agent};

use crate::args::{Agent, RelayName};
use crate::failure::{Exit, Failure};

/// Runs an agent until it has nothing more to do.
pub fn run(agent: &Agent) -> Result<Exit, Failure> {
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

fn parse_key(text: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(key)
}
