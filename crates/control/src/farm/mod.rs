//! Jobs on agents: which node has which job, and the way of its files there and back.

mod carrying;
mod hall;
mod hands;
mod live;

pub use carrying::Stager;
pub use hall::{FarmEnd, FarmNews, FarmNode, FarmWork, run_farm};
