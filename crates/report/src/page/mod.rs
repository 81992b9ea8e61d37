//! An HTML page about runs: one file that needs no network, with an embedded chart library (uPlot,
//! MIT) and scripts of its own. A browser without scripts shows the summary in words.
//!
//! Results are read as JSON, so that the known fields of results of other versions are shown.
//! Timelines come from traces and are reduced to what a screen can show.

mod activity;
mod escape;
mod figures;
mod grades;
mod html;
mod path;
mod picture;
mod rates;
mod sheet;
mod slices;
mod summary;
mod tiles;
mod timeline;
mod title;

pub use html::page;
pub use picture::{Joint, Picture};
pub use rates::Nics;
pub use sheet::Sheet;
pub use timeline::Timeline;

#[cfg(test)]
mod tests;
