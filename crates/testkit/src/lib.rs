//! Fixtures for tests that run the built `garland`: scratch directories, files of pseudorandom
//! bytes, agents without a launcher, hostile peers, slow wires, and the check that a test leaves
//! nothing behind.
//!
//! All functions panic with a reason if the system lacks what a test needs: no test is skipped.
//!
//! # Where to change what
//!
//! - A program that runs: `garland` and `running` (commands), `hand_agent` (an agent without a
//!   launcher), `test_lab`, `machines` and `sshd` (machines in namespaces), `slurm`, `browser`.
//! - Peers and systems that break the rules: `hostile_node`, `peer` (bytes that the encoder would
//!   refuse), `flood`, `site` (a web server), `hanging` (a disk).
//! - Waiting for a condition: `waiting`, and nothing else: no test sleeps for a guessed time.

mod browser;
mod bytes;
mod chance;
mod chore;
mod copies;
mod environment;
mod fabric;
mod flood;
mod garland;
mod hand_agent;
mod hanging;
mod hostile_node;
mod machines;
mod network;
mod peer;
mod processes;
mod result;
mod run_output;
mod running;
mod scratch;
mod site;
mod slurm;
mod sshd;
mod test_lab;
mod waiting;
mod wire;

pub use browser::{Browser, Position};
pub use bytes::{random_bytes, random_file};
pub use chance::Chance;
pub use chore::chore;
pub use copies::{assert_copied, locals, source};
pub use environment::env_number;
pub use fabric::fabric_helper;
pub use flood::Flood;
pub use garland::Garland;
pub use hand_agent::HandAgent;
pub use hanging::{HangingDisk, HangsIn, Modes, Oddities};
pub use hostile_node::{Heard, HostileFiles, HostileNode};
pub use machines::{Machines, said};
pub use network::random_network;
pub use peer::Peer;
pub use processes::{Process, processes_with};
pub use result::verdict;
pub use run_output::RunOutput;
pub use running::Running;
pub use scratch::Scratch;
pub use site::{FLOOD, Manner, ServedRequest, Site};
pub use slurm::Slurm;
pub use sshd::Sshd;
pub use test_lab::TestLab;
pub use waiting::{DEADLINE, await_some, soon, until};
pub use wire::Wire;
