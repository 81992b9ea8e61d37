//! What a node notes of a copy while it makes it. Each thread writes into a ring of its own, made
//! before its work begins: noting takes two readings of the clock and no lock. The heartbeat's thread
//! asks the kernel for its counters every 250 ms. A budget of 0 turns all of it off, the clock's
//! readings as well.

mod clock_probes;
mod collector;
mod exchanges;
mod harvest;
mod lane_tracer;
mod meter;
mod pulse;
mod samples;
mod thread;
mod tracing;

pub use clock_probes::ClockProbes;
pub use collector::{Budget, Collector};
pub use exchanges::Exchanges;
pub use harvest::Harvest;
pub use lane_tracer::LaneTracer;
pub use pulse::Pulse;
pub use thread::{At, Recorder};
pub use tracing::Tracing;
