//! The common format of configuration files: TOML with a version, where unknown keys are errors and
//! every error has a line and a column.

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
