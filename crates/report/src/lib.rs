//! Exports of traces for other programs, and HTML pages about runs. An export is a timeline for
//! Perfetto's and Chrome's viewers, or rows for a spreadsheet. It is written to a `Write`; this
//! crate opens no files.
//!
//! [`Export`] takes one node's trace after the other, so it needs as much memory as the largest
//! trace. `rows` assigns a node's spans to rows, `flows` connects both ends of a hop, and
//! `counters` names the kernel's counters. A [`Format`](format::Format) writes them. [`page`]
//! writes one HTML file about runs.
//!
//! # Where to change what
//!
//! - The pictures of a copy: the chain and the cables are drawn by `assets/chain.js`; which
//!   cables data crosses, `topology/src/drawing/crossed.rs` knows.

#![forbid(unsafe_code)]

mod chrome;
mod counters;
mod csv;
mod details;
mod export;
mod flows;
mod format;
pub mod page;
mod rows;
mod totals;

pub use export::{Export, Kind, Moment};
pub use format::Step;
pub use totals::{Total, Totals};
