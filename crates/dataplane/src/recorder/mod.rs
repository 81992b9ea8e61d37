//! Records the trace of a copy on a node.
//!
//! Each thread writes into a ring of its own, which is allocated before the thread's work begins. A
//! span costs two readings of the clock and no lock. The thread that sends heartbeats samples the
//! kernel's counters every 250 ms. A budget of 0 turns everything off, including the readings of
//! the clock.

mod at;
mod clock_probes;
mod collector;
mod exchanges;
mod harvest;
mod lane_tracer;
mod meter;
mod pulse;
mod samples;
mod thread;

pub use at::{At, peer_index};
pub use clock_probes::ClockProbes;
pub use collector::{Budget, Collector, Tracing};
pub use exchanges::Exchanges;
pub use harvest::Harvest;
pub use lane_tracer::LaneTracer;
pub use pulse::Pulse;
pub use thread::Recorder;
