//! Measuring what lies between two agents: they meet by the head's order, and measure.

mod greeting;
mod guest;
mod ping;
mod runner;
pub mod stream;

pub use greeting::greet_guest;
pub use guest::Invitation;
pub use ping::fabric::Brought;
pub use runner::Running;

/// How long the other agent may leave one without a sign: longer than the head takes to miss its
/// heartbeats, since the head knows which of the two is gone.
pub const SILENCE: std::time::Duration = std::time::Duration::from_secs(8);
