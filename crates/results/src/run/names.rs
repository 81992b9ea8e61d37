//! The name of a run's directory, and names of files in it.

/// The number of characters of the time in a run's name: 20261122-051040.
pub const SECOND: usize = 15;

/// The directory of a run's traces, in the run's directory.
pub const TRACES: &str = "trace";

/// The file with the topology of the lab, for a run in a lab.
pub const TOPOLOGY: &str = "topology.json";

/// The lock file that a run's command holds while it is running.
pub const LOCK: &str = "lock";
