//! Runs an agent: opens its port and starts its threads.

use std::io::{self, Write};
use std::sync::Arc;

use garland_protocol::wire::ReadyLine;
use garland_sys::error::reason;
use garland_sys::socket::TcpListener;
use garland_sys::{capabilities, dumpable, limits, threads};

use crate::agent::{Agent, AgentConfig, AgentError};
use crate::listener;
use crate::listening::OpenPort;
use crate::log::log;

/// Runs an agent until it has been idle for the configured time. Prints the ready line once the
/// agent accepts connections.
///
/// # Errors
/// When the root directory or the port cannot be opened, a thread cannot be started, or the ready
/// line cannot be printed.
pub fn run_agent(config: AgentConfig) -> Result<(), AgentError> {
    if let Err(error) = limits::raise_open_files() {
        log(&format!("cannot raise the limit of open files: {}", reason(&error)));
    }
    if let Err(error) = dumpable::hide() {
        log(&format!("cannot protect the agent's memory from debuggers: {}", reason(&error)));
    }
    // Only a farm's nodes come to it, which may not change programs that run as another user.
    if config.controllers.is_empty()
        && let Err(error) = capabilities::give_up_set_id()
    {
        log(&format!("cannot give up rights that root has: {}", reason(&error)));
    }
    serve(config, |line| {
        let mut output = io::stdout().lock();
        writeln!(output, "{line}").and_then(|()| output.flush())
    })
}

/// Runs an agent until it has been idle for the configured time. Calls `tell` with the ready line
/// once the agent accepts connections. Changes nothing of the process as a whole.
///
/// # Errors
/// Those of [`run_agent`].
pub fn serve(
    config: AgentConfig,
    tell: impl FnOnce(&ReadyLine) -> io::Result<()>,
) -> Result<(), AgentError> {
    let stays = config.stay.is_some();
    let AgentConfig { listen, reached, ports, transport, .. } = &config;
    let port = OpenPort::open(listen, reached, *ports, *transport)?;
    let agent = Arc::new(Agent::new(config)?);
    let line = ReadyLine {
        port: port.number,
        at: port.addresses,
        key: agent.keys.public,
        release: env!("CARGO_PKG_VERSION").to_owned(),
        log: None,
    };
    start_threads(&agent, port.listeners, stays).map_err(AgentError::Thread)?;
    tell(&line).map_err(AgentError::Ready)?;
    match agent.config.controllers.is_empty() {
        true => agent.end_with_launcher(),
        false => agent.watch_idleness(),
    }
    // If the key cannot be removed, it is useless once the agents have ended.
    let _ = agent.remove_cluster_key();
    Ok(())
}

/// Starts the threads that run as long as the agent. `stays` is set for a standing agent.
fn start_threads(agent: &Arc<Agent>, listeners: Vec<TcpListener>, stays: bool) -> io::Result<()> {
    let its = Arc::clone(agent);
    if !stays && !agent.config.controllers.is_empty() {
        threads::spawn("launcher", move || its.end_with_launcher())?;
    } else if agent.link_pool.is_some() {
        threads::spawn("parking", move || listener::attend_parked(&its))?;
    }
    let agent = Arc::clone(agent);
    threads::spawn("listener", move || listener::listen(&agent, &listeners))?;
    Ok(())
}
