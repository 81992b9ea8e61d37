//! `garland`: the command line.

// All output goes through `terminal::output`, which escapes control sequences.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod command;
mod completion;
mod manual;
mod panics;
mod reference;
mod shell;
mod top;

use std::process::ExitCode;

use garland_sys::inherited;

/// The environment variable with the protocol version that this program claims.
const PROTOCOL_VARIABLE: &str = "GARLAND_PROTOCOL";

fn main() -> ExitCode {
    inherited::survive_file_limit();
    // A lab's keeper is this program in another process. It must run before any second thread starts.
    if let Some(exit) = garland_lab::hidden::main(std::env::args_os()) {
        return exit;
    }
    completion::answer();
    // Set by tests, in which this program stands for one of another release.
    if let Some(protocol) = std::env::var(PROTOCOL_VARIABLE).ok().and_then(|text| text.parse().ok())
    {
        garland_protocol::wire::claim(protocol);
    }
    if let Some(exit) = garland_node::main(std::env::args_os()) {
        return exit;
    }
    if let Some(exit) = garland_names::reader_main(std::env::args_os()) {
        return exit;
    }
    panics::end_the_command();
    let args = args::Args::parse_words(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match command::run(&args) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            garland_terminal::output::warn(&failure);
            failure.exit().into()
        }
    }
}
