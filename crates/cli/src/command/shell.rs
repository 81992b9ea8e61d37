//! Completions and the manual page, both from the command line's own description.

use std::io;

use clap::CommandFactory;

use crate::args::Args;
use crate::failure::{Exit, Failure, OrFailure};

/// Prints the completion script for a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    clap_complete::generate(shell, &mut Args::command(), "garland", &mut io::stdout());
    Ok(Exit::Done)
}

/// Prints the manual page.
pub fn manual() -> Result<Exit, Failure> {
    let page = clap_mangen::Man::new(Args::command());
    page.render(&mut io::stdout()).or_nothing("printing the manual page")?;
    Ok(Exit::Done)
}
