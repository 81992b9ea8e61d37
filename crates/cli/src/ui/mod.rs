//! What people see while a command runs, and when it is over.

#[macro_use]
pub mod output;

pub mod canvas;
pub mod keys;
pub mod notes;
pub mod progress;
pub mod progress_lines;
pub mod screen;
pub mod stage;
pub mod starting;
pub mod verdicts;
