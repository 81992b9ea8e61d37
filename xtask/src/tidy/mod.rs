//! The house rules a compiler doesn't check, each in a file of its own.

mod banned;
mod clocks;
mod direction;
mod finding;
mod imports;
mod lengths;
mod names;
mod order;
mod pages;
mod paths;
mod reach;
mod run;
mod scan;
mod scenarios;
mod speech;
mod threads;
mod tree;
mod unsafety;

pub(crate) use run::{print_imports, run};
