//! What people see while a command runs, and when it is over.

pub mod notes;
pub mod output;
pub mod progress;
pub mod progress_lines;
pub mod screen;
pub mod starting;
pub mod verdicts;
