//! The configuration of an agent, and the errors of its start.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use garland_core::cluster::listen::{ListenAt, Ports};
use garland_dataplane::block_index::Records;
use garland_protocol::farm::FarmAccess;
use garland_protocol::wire::{KeyPair, PublicKey};
use garland_sys::error::reason;
use garland_sys::mptcp::Transport;
use thiserror::Error;

use crate::giving::OpenProgram;
use crate::listening::ListenError;

/// The configuration of an agent, which is fixed when the agent starts.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The directory below which the agent resolves all paths; `None` for the whole file system.
    pub root: Option<PathBuf>,
    /// The public keys of the controllers that the agent serves. Without one it serves a farm only,
    /// and ends with its launcher.
    pub controllers: Vec<PublicKey>,
    /// The nodes of a farm that the agent serves, and what they reach.
    pub farm: FarmAccess,
    /// Where to listen; empty for the node's own addresses among `reached`.
    pub listen: Vec<ListenAt>,
    /// The addresses by which others reach the node, as far as they are known; if there are none
    /// either, only this machine reaches the agent.
    pub reached: Vec<IpAddr>,
    /// The ports of which the first free one is taken.
    pub ports: Ports,
    /// The key pair of the agent; `None` for a new one.
    pub keys: Option<KeyPair>,
    /// How long the agent keeps running without a session. By default it exits when its last
    /// session ends, or when its standard input ends while no session is open.
    pub stay: Option<Duration>,
    /// The age at which a standing agent takes no new sessions and ends; `None` for any.
    pub max_life: Option<Duration>,
    /// The rate of the node's emulated disk in bytes per second; `None` if no disk is emulated.
    pub disk: Option<u64>,
    /// The stored digests of the blocks of files that were written or read on this node.
    pub records: Records,
    /// The directory of the names for content that this agent keeps; `None` if it keeps none.
    pub names: Option<PathBuf>,
    /// The file of the cluster's key, by which commands on this node read names and contents;
    /// `None` if it gets none.
    pub cluster_key: Option<PathBuf>,
    /// Whether sessions and what they do are told to the log of the node's system.
    pub syslog: bool,
    /// Opens the program that the agent sends to other nodes.
    pub program: OpenProgram,
    /// The transport of the agent's port. Each copy chooses the transport of the links that it
    /// opens.
    pub transport: Transport,
}

/// Why an agent cannot start.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The root directory with this path cannot be opened.
    #[error("cannot open the agent's root {0}: {why}", why = reason(.1))]
    Root(String, io::Error),
    /// The agent cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Connections cannot be watched.
    #[error("cannot watch connections: {}", reason(.0))]
    Watch(io::Error),
    /// A thread cannot be started.
    #[error("cannot start a thread: {}", reason(.0))]
    Thread(io::Error),
    /// The ready line cannot be written.
    #[error("cannot write the ready line for the launcher: {}", reason(.0))]
    Ready(io::Error),
}
