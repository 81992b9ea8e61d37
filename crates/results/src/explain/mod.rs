//! The result of `garland explain`, computed from the stored run of a copy.

mod clocks;
mod read;
mod result;
mod table;
mod words;

pub use read::Kept;
pub use result::ExplainResult;
