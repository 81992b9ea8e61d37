//! How a copy is shown, whichever command makes it: [`progress`] while it runs, [`tell`] prints its
//! plan, its result, and what to do next.
//!
//! # Where to change what
//!
//! - The lines for programs (`--progress`) are in `progress_lines.rs`; docs/results.md has their
//!   schema.
//! - What a result says of itself: `results/src/copy/`.

#![forbid(unsafe_code)]

pub mod progress;
mod progress_lines;
pub mod tell;

pub use progress_lines::ProgressForm;
