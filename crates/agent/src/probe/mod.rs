//! Measures the network between two agents, which connect to each other when the head orders it.
//! This is called a meeting.

mod dialing;
mod error;
mod guest;
mod meeting_state;
mod ping;
mod runner;
pub mod stream;

pub use guest::Invitation;
pub use ping::fabric::HelperProgram;
pub use runner::Running;

/// How long the other agent may be silent. This is longer than the head waits for heartbeats, so
/// that the head reports first which of the two agents is gone.
pub const SILENCE: std::time::Duration = std::time::Duration::from_secs(8);
