//! Output of commands: progress, tables of verdicts, and failures. The kind of a failure determines
//! the exit code (docs/scripts.md).
//!
//! # Where to change what
//!
//! - `wrapped` wraps long lines.
//! - `width` has the columns that characters take.
//! - `signs` has the signs that are not ASCII, and what stands for them without UTF-8.

#![forbid(unsafe_code)]

pub mod failure;
pub mod output;

pub mod browser;
pub mod canvas;
pub mod keys;
pub mod notes;
pub mod screen;
mod signs;
pub mod stage;
pub mod starting;
pub mod streams;
pub mod verdicts;
mod width;
mod wrapped;
