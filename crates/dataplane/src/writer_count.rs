//! How many writers a copy has on a node.

/// The length in bytes from which a copy may have several writers.
const LONG_COPY: u64 = 64 << 20;

/// The largest number of writers of a copy. Each further one takes a block more where blocks are
/// compressed.
const MAX_WRITERS: usize = 4;

/// The environment variable with the number of processors that this machine is taken to have, for
/// tests.
const PROCESSORS: &str = "GARLAND_PROCESSORS";

/// Returns the number of writers of a copy of `length` bytes on this machine. One of them opens,
/// hashes and writes 2 GB/s, which is 18 Gbit/s, and keeps a processor busy with that.
pub fn writer_count(length: u64) -> usize {
    // Counting processors takes longer than a copy of few bytes can spare.
    if length < LONG_COPY {
        return 1;
    }
    let wanted = std::env::var(PROCESSORS).ok().and_then(|number| number.parse().ok());
    let processors =
        wanted.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    (processors / 4).clamp(1, MAX_WRITERS)
}
