//! `garland`: one file on every node at the speed of one wire.

// All that is printed goes by `ui::output`, which escapes what a terminal would obey.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod ui;

mod args;
mod at_once;
mod command;
mod door;
mod drawing;
mod failure;
mod fleet;
mod here;
mod launch;
mod limit;
mod lock;
mod nodes;
mod overtime;
mod places;
mod reach;
mod result;
mod run;
mod scenario;
mod standing;
mod topology;
mod traces;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A lab's keeper is this program, started again: before there is a second thread.
    if let Some(exit) = garland_lab::hidden::main(std::env::args_os()) {
        return exit;
    }
    let args = args::Args::of(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match command::run(&args) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            ui::output::warn(&failure);
            failure.exit().into()
        }
    }
}
