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
use std::time::Duration;

use garland_fleet::launch::pass_on_rest;
use garland_sys::inherited;
use garland_terminal::failure::Failure;
use garland_terminal::output;

/// The environment variable with the protocol version that this program claims.
const PROTOCOL_VARIABLE: &str = "GARLAND_PROTOCOL";

/// How long what the command said last may take to get through its logins.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    inherited::survive_file_limit();
    // A lab's keeper is this program in another process. It must run before any second thread
    // starts.
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
    let done = match args::Args::parse_words(std::env::args_os()) {
        Ok(args) => {
            let done = command::run(&args).map(ExitCode::from);
            pass_on_rest(LAST_WORDS_TIMEOUT);
            done
        }
        Err(error) => told(&error),
    };
    done.unwrap_or_else(|failure| {
        output::warn(&failure);
        failure.exit().into()
    })
}

/// Prints the help or the version that was asked for, or why arguments are wrong.
fn told(error: &clap::Error) -> Result<ExitCode, Failure> {
    let printed = error.print();
    if !error.use_stderr() {
        output::written(printed)?;
    }
    Ok(u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from))
}
