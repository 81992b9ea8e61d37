//! Names in the directory of a run, and of it.

/// Characters of a run's time in its name: 20261122-051040.
pub const SECOND: usize = 15;

/// The directory of a run's traces, in its own.
pub const TRACES: &str = "trace";

/// The file of what joins the nodes of a run in a lab.
pub const TOPOLOGY: &str = "topology.json";

/// The file that a run's command holds while it lives.
pub const LOCK: &str = "lock";
