//! Trees of files as one stream: its records, its parser, and the patterns that exclude files.
//!
//! A stream is a sequence of records, each with all that is needed to create one file, directory or
//! link. Names are single components, in the stream's current directory. So a node needs no table
//! of the tree, and no name in a stream can lead out of the destination directory.

mod glob;
mod limits;
mod parser;
mod pattern;
mod record;
mod source_path;

pub use glob::NameGlob;
pub use limits::{Excess, LimitCheck};
pub use parser::{Parser, Step, StreamError};
pub use pattern::{Pattern, PatternError};
pub use record::{DEPTH_MAX, GOOD, Meta, PATH_MAX, RECORD_MAX, Record, VOID, is_name};
pub use source_path::{SourcePath, TopName};
