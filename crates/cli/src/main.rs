//! `garland`: one file on every node at the speed of one wire.

mod args;
mod at_once;
mod command;
mod door;
mod drawing;
mod failure;
mod fleet;
mod launch;
mod limit;
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
mod ui;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // A lab's keeper is this program, started again: before there is a second thread.
    if let Some(exit) = garland_lab::hidden::main(std::env::args_os()) {
        return exit;
    }
    let args = args::Args::parse();
    match command::run(&args) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprint!("{failure}");
            failure.exit().into()
        }
    }
}
