//! Whether and how a copy is traced.

/// How a copy is traced.
#[derive(Clone, Copy, Debug)]
pub struct Tracing {
    /// When the command began, in nanoseconds of the monotonic clock.
    pub started_ns: u64,
    /// Whether the nodes are a lab's.
    pub emulated: bool,
}
