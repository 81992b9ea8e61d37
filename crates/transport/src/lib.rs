//! Connections between heads and agents: their greeting and its limits, control channels, and data
//! links.

#![forbid(unsafe_code)]

pub mod connection;
mod dial;
mod greeters;
mod greeting;
mod key_ring;
pub mod limits;
pub mod link;
pub mod link_pool;
mod redial;
mod retire;
mod timed;

pub use garland_protocol::{Claim, TICKET_LEN};

pub use connection::{Connection, connect_agent};
pub use dial::{ConnectionError, Renewed};
pub use greeters::{Greeters, Host};
pub use greeting::{Credentials, Found, Guest, LinkError, Welcomed, break_reason, introduce};
pub use redial::{Redial, Unrenewed};
pub use retire::retire;
