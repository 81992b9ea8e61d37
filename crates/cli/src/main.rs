//! `garland`: one file on every node at the speed of one wire.

// All that is printed goes by `terminal::output`, which escapes what a terminal would obey.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod args;
mod command;
mod reference;
mod shell;
mod top;

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
            garland_terminal::output::warn(&failure);
            failure.exit().into()
        }
    }
}
