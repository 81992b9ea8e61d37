//! Traces: each node's record of a copy. Spans describe when a stage worked or waited; samples
//! contain the kernel's counters during that time. Times are nanoseconds of the node's own
//! monotonic clock; the analysis converts them to the head's clock by means of [`Probe`]s.
//!
//! `docs/trace.md` describes the file format.

mod condense;
mod file;
mod parcel;
mod record;
mod ring;
mod samples;
mod stage;
mod wire;

pub use file::{Cut, Origin, Role, Trace, TraceError, VERSION, file_stem};
pub use parcel::{PARCEL_MAX, Parcel, parcels};
pub use record::{
    Direction, Disk, Exchange, Lost, NO_BLOCK, NONE, Probe, Record, Socket, Span, Thread,
};
pub use ring::Ring;
pub use samples::Samples;
pub use stage::Stage;
pub use wire::RECORD_LEN;
