//! Jobs of a farm: run on a node, and handed out by the head.

mod bench;
mod carrying;
mod desk;
mod facts;
mod glance;
mod guard;
mod hall;
mod hands;
mod live;
mod output;
mod run;
mod saying;
mod window;

pub use bench::Bench;
pub use carrying::Carrier;
pub use desk::Desk;
pub use facts::facts;
pub use glance::Glance;
pub use guard::guard;
pub use hall::{FarmEnd, FarmNews, FarmNode, FarmWork, run_farm};
pub use run::Place;
