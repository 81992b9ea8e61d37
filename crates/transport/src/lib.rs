//! Connections between heads and agents: their greeting and its limits, control channels, and data
//! links.
//!
//! # Where to change what
//!
//! - `limits` says how long, how many and how large greetings may be; `greeting` is the exchange,
//!   `greeters` the loop that greets all peers of a port. `key_ring` keeps for each key which
//!   greetings have come.
//! - `detour` is where all connections to agents begin: by TCP, or through something else.
//! - `redial` dials again for a session, `retire` ends agents of other releases.

#![forbid(unsafe_code)]

pub mod connection;
pub mod detour;
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

pub use garland_protocol::wire::{Claim, TICKET_LEN};

pub use dial::{ConnectionError, Renewed};
pub use greeters::{Greeters, Host};
pub use greeting::{Credentials, Found, Guest, LinkError, Welcomed, break_reason, introduce};
pub use key_ring::{GreetingLimit, Identity};
pub use redial::{Redial, Unrenewed};
pub use retire::retire;
