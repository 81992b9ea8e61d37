//! What happened: a node's record of one copy. Spans say when which stage worked or waited, samples
//! say what the kernel's counters said meanwhile. Times are the node's own monotonic nanoseconds;
//! what they are on other nodes' clocks is for the analysis to find out, from [`Probe`]s.
//!
//! `docs/trace.md` describes the file.

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
