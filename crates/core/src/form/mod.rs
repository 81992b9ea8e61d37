//! What the files that people write have in common: TOML of one version, known keys only, and every
//! fault with its line and column.

mod document;
mod fault;
mod names;
mod problem;
mod section;

pub use document::document;
pub use fault::FileError;
pub use fault::{Fault, Placed, position};
pub use names::{Alone, expand_text};
pub use problem::FormProblem;
pub use section::{Section, Text, text, wrong_kind};
