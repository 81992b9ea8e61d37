//! Parameters of traces.

/// The parameters of a copy's trace.
#[derive(Clone, Copy, Debug)]
pub struct Tracing {
    /// When the command began, in nanoseconds of the monotonic clock.
    pub started_ns: u64,
    /// Whether the nodes belong to a lab.
    pub emulated: bool,
}
