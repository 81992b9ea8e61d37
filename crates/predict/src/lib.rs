//! Flow simulation: predicts how long copies and farms take if flows share wires, disks and CPUs
//! fairly, and nothing else delays them.
//!
//! The crate `simulation` simulates every slice of every block. Here a lane is one flow, at the
//! rate of the slowest resource on its whole route, since a slow relay slows down all nodes before
//! it. So a copy to ten thousand nodes is simulated in a moment. Rates are max-min fair (Bertsekas
//! and Gallager, Data Networks, 1992, 6.5.2) and change only when a flow starts or ends.
//!
//! # Where to change what
//!
//! - `suggest` searches the fastest plan; it is judged in `tests/suggest.rs` and
//!   `cli/tests/truth/suggest.rs`.
//! - `measured` makes wires of measured rates, `processors` says what processors cost,
//!   `threads` how many lanes keep up with a wire.

#![forbid(unsafe_code)]

mod copies;
mod farm;
mod fluid;
mod measured;
mod network;
mod payload;
mod processors;
mod suggest;
mod threads;
mod transfers;
mod wires;

pub use copies::{CopyRun, CopyTry, Costs, copy, processor_limits};
pub use farm::{Farm, FarmRun, Files, Job, Machine, Ran, farm};
pub use measured::Measured;
pub use network::{Network, NoWay, ThereAndBack, Use};
pub use payload::Payload;
pub use processors::{CpuCosts, ProcessorLimit, Processors};
pub use suggest::{
    Broadcast, OrderChoice, RouteShapes, SEARCH_SHARE, SIMULATED_HOP, Searched, Suggestion,
};
pub use threads::ONE_LANE;
pub use transfers::{Transfer, transfers};
pub use wires::Wires;
