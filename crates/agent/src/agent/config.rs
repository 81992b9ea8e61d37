//! How an agent is started, and why it can't be.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use garland_protocol::{KeyPair, PublicKey};
use garland_sys::mptcp::Transport;
use thiserror::Error;

use garland_dataplane::block_index::Records;

/// How an agent is started.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The folder that no path leads out of; the whole file system when there is none.
    pub root: Option<PathBuf>,
    /// The public keys of those who may command.
    pub controllers: Vec<PublicKey>,
    /// The port to listen on; 0 for any.
    pub port: u16,
    /// The key pair to be known by; a fresh one when there is none.
    pub keys: Option<KeyPair>,
    /// How long to stay without anything to do. Without it the agent ends with its first
    /// controller, or when its standard input ends.
    pub stay: Option<Duration>,
    /// Bytes per second of the node's disk, where an emulated one is slower than the machine's.
    pub disk: Option<u64>,
    /// What it remembers of files that it has written.
    pub records: Records,
    /// What it takes for links; each copy says what links are opened by.
    pub transport: Transport,
}

/// Why an agent can't start.
#[derive(Debug, Error)]
pub enum AgentError {
    /// Its folder can't be opened.
    #[error("opening the agent's root {0}: {1}")]
    Root(String, io::Error),
    /// Its port can't be had.
    #[error("listening on port {0}: {1}")]
    Listen(u16, io::Error),
    /// It can't watch the links that it is to keep.
    #[error("watching standing links: {0}")]
    Parking(io::Error),
    /// It can't start the threads that it needs.
    #[error("{0}")]
    Thread(io::Error),
    /// Its ready line can't be said.
    #[error("telling the launcher that the agent is ready: {0}")]
    Ready(io::Error),
}
