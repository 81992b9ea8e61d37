//! What people see while a command runs.

pub mod output;
pub mod progress;
