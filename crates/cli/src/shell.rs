//! Shell completions and manual pages, generated from the definition of the command line.

use clap::{Command, CommandFactory};

use super::reference;
use crate::args::{Args, Man};
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// Prints the completion script for a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "garland", &mut script);
    output::print(String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Prints a manual page, writes all of them to a directory, or prints the book's reference page.
pub fn manual(man: &Man) -> Result<Exit, Failure> {
    let mut command = Args::command().disable_help_subcommand(true);
    if man.markdown {
        output::print(reference::page(command))?;
        return Ok(Exit::Done);
    }
    if let Some(directory) = &man.directory {
        let writing = || format!("writing manual pages to {}", directory.display());
        std::fs::create_dir_all(directory).or_nothing(writing())?;
        clap_mangen::generate_to(command, directory).or_nothing(writing())?;
        return Ok(Exit::Done);
    }
    command.build();
    let page = man.command.iter().try_fold(&command, |above, name| page_of(above, name))?;
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone()).render(&mut text).or_nothing("writing the manual page")?;
    output::print(String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

fn page_of<'a>(above: &'a Command, name: &str) -> Result<&'a Command, Failure> {
    let found = above.find_subcommand(name).filter(|command| !command.is_hide_set());
    found.ok_or_else(|| {
        let above = above.get_bin_name().unwrap_or("garland");
        Failure::usage(format!("there is no command `{above} {name}`"))
            .hint(format!("`{above} --help` lists the commands"))
    })
}
