//! The help of all commands as one page of the book, `docs/reference.md`.

use clap::Command;

const INTRODUCTION: &str = "\
# Commands

What `garland COMMAND --help` says, for all commands. This page is written by
`garland man --markdown`, and `make test` looks that it is what the program says. The same as manual pages:
`garland man cp | man -l -`, or all of them by `garland man --folder DIR`. Shells complete words after
`garland completions SHELL`.
";

/// Columns of the help, as where nobody knows how wide a terminal is.
const WIDTH: usize = 100;

/// The page, without commands that aren't for users.
pub fn page(command: Command) -> String {
    let mut command = command.term_width(WIDTH);
    command.build();
    let mut page = INTRODUCTION.to_owned();
    append(&mut page, &mut command);
    page
}

/// A command's chapter, and those of the commands below it.
fn append(page: &mut String, command: &mut Command) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        append(page, below);
    }
}
