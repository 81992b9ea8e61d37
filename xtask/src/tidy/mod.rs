//! The project's rules that the compiler does not check, each in a file of its own.

mod banned;
mod bindings;
mod constants;
mod constructors;
mod direction;
mod displays;
mod facades;
mod finding;
mod import_order;
mod imports;
mod lengths;
mod names;
mod pages;
mod parameters;
mod paths;
mod promises;
mod reach;
mod run;
pub(crate) mod scan;
mod scenarios;
mod shadows;
mod sizes;
mod tree;
mod vocabulary;
mod waits;

pub(crate) use run::{print_imports, run};
