//! Measuring the network between two agents, which meet by order of the head.

mod greeting;
mod guest;
mod meeting_state;
mod ping;
mod runner;
pub mod stream;

pub use greeting::greet_guest;
pub use guest::Invitation;
pub use ping::fabric::HelperProgram;
pub use runner::Running;

/// Timeout for the other agent. Longer than the head takes to miss heartbeats, since the head knows
/// which of the two is gone.
pub const SILENCE: std::time::Duration = std::time::Duration::from_secs(8);
