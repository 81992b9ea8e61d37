//! An HTML page about runs: one file that needs no network, with an embedded chart library (uPlot, MIT) and
//! scripts of its own. A browser without scripts shows the summary in words.
//!
//! Results are read as JSON, so that the known fields of results of other versions are shown.
//! Timelines come from traces and are reduced to what a screen can show.

mod escape;
mod figures;
mod grades;
mod html;
mod picture;
mod rates;
mod sheet;
mod slices;
mod summary;
mod timeline;

pub use html::page;
pub use picture::{Joint, Picture};
pub use rates::Nics;
pub use sheet::Sheet;
pub use timeline::{Bar, Timeline};

#[cfg(test)]
mod tests;
