//! What people see while a command runs, and when it is over.

#![forbid(unsafe_code)]

pub mod failure;
pub mod output;

pub mod canvas;
pub mod keys;
pub mod notes;
pub mod screen;
pub mod stage;
pub mod starting;
pub mod verdicts;
