//! Jobs of a farm: run on a node, and handed out by the head.

mod bench;
mod desk;
mod facts;
mod glance;
mod guard;
mod output;
mod run;
mod saying;
mod window;

pub use bench::JobExecutor;
pub use desk::JobService;
pub use facts::facts;
pub use glance::JobsSnapshot;
pub use guard::guard;
pub use run::Place;
