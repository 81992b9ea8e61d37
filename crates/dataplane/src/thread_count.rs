//! How many threads of a copy read and write on this machine.

use garland_core::plan::{self, Layout};

/// The length in bytes from which a copy may have several writers.
const LONG_COPY: u64 = 64 << 20;

/// The environment variable with the number of processors that this machine is taken to have, for
/// tests.
const PROCESSORS: &str = "GARLAND_PROCESSORS";

/// Returns the number of processors that this process may use.
pub fn processors() -> usize {
    let wanted = std::env::var(PROCESSORS).ok().and_then(|number| number.parse().ok());
    wanted.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Returns the number of writers on this machine of a copy of `layout` over `lanes` lanes. One of
/// them opens, hashes and writes 2 GB/s, which is 18 Gbit/s, and keeps a processor busy with that.
pub fn writers(layout: Layout, lanes: usize) -> usize {
    let is_long = layout.open || layout.length >= LONG_COPY;
    // Counting processors takes longer than a copy of few bytes can spare.
    if is_long { plan::writer_count(processors(), lanes) } else { 1 }
}

/// Returns the initial number of threads on this machine that read and encrypt the blocks of one of
/// `lanes` lanes. Each manages about 2 GB/s.
pub fn readers_of_lane(lanes: usize) -> usize {
    // One lane needs no count of the processors.
    let count = if lanes > 1 { processors() } else { 1 };
    plan::readers_of_lane(count, lanes)
}
