//! A page about runs: one HTML file that needs no network, with an embedded chart library
//! (uPlot, MIT) and scripts of its own. What a browser without scripts shows is the summary in words.
//!
//! Results come in as the JSON that commands keep, so that those of other versions still show what
//! they have; timelines come from traces, thinned out to what a screen can show.

mod figures;
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
