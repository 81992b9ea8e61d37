//! Trees of files as one stream: what is in it, how it is read, and what is left out of it.
//!
//! A stream is records, one after another, each with all that a node needs to make one thing; names
//! are single ones, in the directory that the stream is in. So a node keeps no table of a tree, and no
//! name in a stream can lead out of the directory that it goes into.

mod limits;
mod parser;
mod pattern;
mod record;

pub use limits::{Excess, LimitCheck};
pub use parser::{Parser, Step, StreamError};
pub use pattern::{Pattern, PatternError};
pub use record::{DEPTH_MAX, GOOD, Meta, RECORD_MAX, Record, VOID};
