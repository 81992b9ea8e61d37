//! What traces and their analysis become for other programs to read: a timeline for Perfetto or a
//! Chrome browser, rows for a spreadsheet. Traces come in, bytes go out to whatever takes them; no
//! file is opened here.
//!
//! [`Export`] takes one node's trace after another, so that its memory is that of the largest.
//! `rows` lays a node's spans out, `flows` joins both ends of a hop, `counters` names what the
//! kernel counted; a [`Format`](format::Format) writes it down. [`page`] makes one HTML file of runs, for
//! people.

#![forbid(unsafe_code)]

mod chrome;
mod counters;
mod csv;
mod details;
mod export;
mod flows;
mod format;
pub mod page;
mod perfetto;
mod rows;
mod totals;

pub use export::{Export, Kind, Moment};
pub use format::Step;
pub use totals::{Total, Totals};
