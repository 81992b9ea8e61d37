//! Connections between heads and agents: the greeting, Noise control channels, and data links.

#![forbid(unsafe_code)]

pub mod connection;
pub mod greeting;
pub mod link;
pub mod link_pool;
pub mod timed;

pub use connection::{Connection, ConnectionError, connect_agent};
pub use greeting::introduce;
pub use link::LinkError;
pub use timed::Timed;
