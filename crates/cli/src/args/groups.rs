//! The help of the program itself: its commands in groups, on a screen of 40 lines of 80 columns.
//! Commands in no group are found in the manual, as are node lists and exit codes.

use std::fmt::Write as _;

use clap::Command;

const GROUPS: [(&str, &[&str]); 4] = [
    ("Copy and run", &["cp", "publish", "get", "mount", "up", "exec", "farm"]),
    ("Measure", &["wires", "ping", "disk", "balance", "doctor"]),
    ("Understand", &["explain", "report", "runs", "top", "trace"]),
    ("Plan and emulate", &["forecast", "plan", "net", "lab", "scenario"]),
];

/// What the program is for. It isn't wrapped.
const ABOUT: &str = "\
Moves files through a cluster at the speed of its slowest wire, and accounts for
the time that it could not save";

/// The last line.
const HINT: &str =
    "New here: garland demo. NODES, exit codes, all commands: garland man | man -l -";

/// Returns `command` with a help that lists its subcommands in groups, each with the first sentence
/// of its description.
pub fn grouped(command: Command) -> Command {
    let mut listed = String::new();
    for (title, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(listed, "{title}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let about = about.split(": garland").next().unwrap_or_default();
            let _ = writeln!(listed, "  {name:<10}{about}");
        }
        listed.push('\n');
    }
    command.help_template(format!(
        "{ABOUT}\n{{usage-heading}} {{usage}}\n\n{listed}Options:\n{{options}}\n{HINT}"
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::args::Args;

    #[test]
    fn every_command_of_a_group_exists_and_there_are_not_many() {
        let program = Args::command();
        let names: Vec<_> = super::GROUPS.iter().flat_map(|(_, names)| *names).collect();
        for name in &names {
            assert!(program.find_subcommand(name).is_some(), "{name}");
        }
        assert!(names.len() <= 22, "{}", names.len());
    }
}
