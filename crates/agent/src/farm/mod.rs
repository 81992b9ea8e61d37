//! Runs the jobs of a farm on a node.

mod batcher;
mod departure;
mod executor;
mod facts;
mod guard;
mod launch;
mod meter;
mod output;
mod remover;
mod run;
mod service;
mod snapshot;
mod window;

pub use executor::JobExecutor;
pub use facts::node_facts;
pub use guard::{Guard, HeldInput, guard};
pub use output::Pipes;
pub use run::Place;
pub use service::JobService;
pub use snapshot::JobsSnapshot;
