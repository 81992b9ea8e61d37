//! The names of runs, and of files in a run's directory.

/// The length in bytes of the time at the beginning of a run's name, such as 20261122-051040.
pub const SECOND: usize = 15;

/// The name of the directory with a run's traces.
pub const TRACES: &str = "trace";

/// The name of the file with the lab's topology; only runs in a lab have this file.
pub const TOPOLOGY: &str = "topology.json";

/// The name of the lock file that a command holds during its run.
pub const LOCK: &str = "lock";
