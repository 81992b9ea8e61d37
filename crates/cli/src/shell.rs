//! Manual pages, generated from the definition of the command line.

use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use garland_core::printable;
use garland_sys::new_file::NewFile;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

use super::{manual, reference};
use crate::args::{Args, Man};

/// Prints a manual page, writes all of them to a directory, or the book's pages about commands.
pub fn manual(man: &Man) -> Result<Exit, Failure> {
    let mut program = Args::command().disable_help_subcommand(true);
    if let Some(directory) = &man.directory {
        let writing = || format!("writing manual pages to {}", printable::path(directory));
        std::fs::create_dir_all(directory).or_nothing(writing())?;
        if man.markdown {
            reference::write(program, directory).or_nothing(writing())?;
        } else {
            program.build();
            write_below(&program, &program, directory).or_nothing(writing())?;
        }
        return Ok(Exit::Done);
    }
    if man.command == [manual::cluster_file::NAME] {
        let mut text = Vec::new();
        manual::cluster_file::write(&mut text).or_nothing("cannot write the manual page")?;
        output::print_bytes(&text)?;
        return Ok(Exit::Done);
    }
    program.build();
    let page = man.command.iter().try_fold(&program, |above, name| page_of(above, name))?;
    let mut text = Vec::new();
    manual::write(page, &program, &mut text).or_nothing("cannot write the manual page")?;
    output::print_bytes(&text)?;
    Ok(Exit::Done)
}

/// Writes the pages of `command` and its subcommands to `directory`.
fn write_below(command: &Command, program: &Command, directory: &Path) -> io::Result<()> {
    let name = format!("{}.1", command.get_display_name().unwrap_or(command.get_name()));
    let mut page = NewFile::create(&directory.join(name))?;
    manual::write(command, program, &mut page)?;
    page.commit()?;
    let mut below = command.get_subcommands().filter(|below| !below.is_hide_set());
    below.try_for_each(|below| write_below(below, program, directory))
}

fn page_of<'a>(above: &'a Command, name: &str) -> Result<&'a Command, Failure> {
    let found = above.find_subcommand(name).filter(|command| !command.is_hide_set());
    found.ok_or_else(|| {
        let above = above.get_bin_name().unwrap_or("garland");
        Failure::usage(format!("there is no command `{above} {name}`"))
            .hint(format!("`{above} --help` lists the commands"))
    })
}
