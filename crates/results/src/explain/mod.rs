//! What `garland explain` says of a copy: its kept run, and the result made from it.

mod clocks;
mod read;
mod result;
mod table;
mod words;

pub use read::Kept;
pub use result::ExplainResult;
