//! What people see while a command runs.

pub mod progress;
