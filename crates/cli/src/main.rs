//! `garland`: the command line.

// All output goes through `terminal::output`, which escapes control sequences.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod args;
mod command;
mod reference;
mod shell;
mod top;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A lab's keeper is this program in another process. It must run before any second thread starts.
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
