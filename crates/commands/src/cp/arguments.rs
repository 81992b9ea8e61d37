//! The arguments of `garland cp`, checked and put together once.

use garland_copy::command_line::CommandLine;
use garland_copy::lists;
use garland_copy::spec::CopySpec;
use garland_core::cluster::target::{self, Target};
use garland_core::printable;
use garland_terminal::failure::Failure;

use super::options::Cp;
use super::options::kind::Kind;
use super::refusal::{kind_of, refuse_without_effect};
use super::task::Task;

/// Returns the copy that the arguments of `task` ask for. Conflicts that depend on the nodes or on
/// the type of a file are reported once these are known.
///
/// # Errors
/// When an option has no effect on this kind of copy, or its value cannot be parsed.
pub fn parse(args: &Cp, task: &Task) -> Result<CopySpec, Failure> {
    refuse_without_effect(args, kind_of(args, task)?)?;
    if args.join.is_none() {
        refuse_missing_source(args)?;
        refuse_pattern_of_destination(args)?;
    }
    let mut copy = spec(args)?;
    copy.source.is_tree |= matches!(task, Task::Out) && are_several_files(args)?;
    Ok(copy)
}

/// Fails if the last component of the destination on nodes is `*`: nobody wants a file of that
/// name, which `rm *` would have to remove.
fn refuse_pattern_of_destination(args: &Cp) -> Result<(), Failure> {
    let Ok(Target::Nodes { nodes, path }) = target::parse(args.destination()) else {
        return Ok(());
    };
    match (path.file_name(), path.parent()) {
        (Some(name), Some(folder)) if name == "*" => {
            let folder = folder.join("");
            let shown = printable::path(&path);
            let folder = printable::path(&folder);
            Err(Failure::usage(format!(
                "cannot copy to {nodes}:{shown}: a destination is no pattern"
            ))
            .hint(format!("into each node's directory: '{nodes}:{folder}'")))
        }
        _ => Ok(()),
    }
}

/// Returns whether the sources are several plain files of this machine, which are copied as with
/// -r: into one directory.
///
/// # Errors
/// When they have something else among them, which only -r copies, or an option that is for one
/// file.
fn are_several_files(args: &Cp) -> Result<bool, Failure> {
    let sources = args.sources();
    let is_tree = args.source.recursive || args.plan.stripe.is_some();
    if sources.len() < 2 || is_tree || kind_of(args, &Task::Out)? != Kind::Tree {
        return Ok(false);
    }
    if args.checks.digest.is_some() {
        let failure = Failure::usage("cannot print the digests of several files");
        return Err(failure.hint("--digest takes one SOURCE: copy each file by itself"));
    }
    for source in sources {
        // What is not there is told when it is opened.
        let Ok(stat) = source.symlink_metadata() else { continue };
        let shown = printable::path(source);
        let failure = |what: &str| {
            Failure::usage(format!("cannot copy {shown} without -r among other sources: {what}"))
        };
        if stat.is_dir() {
            return Err(failure("it is a directory").hint("directories are copied with -r"));
        }
        if stat.is_symlink() {
            let hint = "-r copies the link; to copy the file, name that";
            return Err(failure("it is a symbolic link").hint(hint));
        }
    }
    Ok(true)
}

/// Returns the copy that `args` ask for, all of which have an effect on it.
///
/// # Errors
/// When the value of an option cannot be parsed, or a list cannot be read.
pub fn spec(args: &Cp) -> Result<CopySpec, Failure> {
    args.source.refuse_two_readers()?;
    refuse_files_called_dash(args)?;
    let sources = args.sources();
    let is_list_read = args.source.lists().any(|list| lists::is_read_once(list.file));
    let command_line = CommandLine::new(&args.words, sources, is_list_read);
    Ok(CopySpec {
        source: args.source.spec(sources)?,
        plan: args.plan.spec()?,
        slow: args.slow.spec(),
        checks: args.checks.spec(),
        tuning: args.tuning.spec()?,
        run: args.run.spec(command_line),
    })
}

fn refuse_missing_source(args: &Cp) -> Result<(), Failure> {
    if args.sources().is_empty() {
        let only = args.destination().to_string_lossy();
        let message = format!("a copy needs a SOURCE and a DESTINATION, and only {only} was given");
        return Err(Failure::usage(message).hint("such as garland cp FILE 'n[01-20]:/path'"));
    }
    if args.sources().iter().any(|source| source.as_os_str().is_empty()) {
        return Err(Failure::usage("the path of a SOURCE is empty"));
    }
    Ok(())
}

/// Refuses `-` as the name of a file that is written: what stands for standard output elsewhere
/// would become a file of this name.
fn refuse_files_called_dash(args: &Cp) -> Result<(), Failure> {
    let list = ("--failed-to", &args.source.failed_to, "standard output has the result");
    let plan = ("--save-plan", &args.run.save_plan, "to print the plan: garland cp -n --json");
    for (option, file, instead) in [list, plan] {
        if file.as_ref().is_some_and(|file| file.as_os_str() == "-") {
            let message = format!("{option} needs the name of a file, not `-`");
            let hint = format!("{instead}; for a file of this name: {option} ./-");
            return Err(Failure::usage(message).hint(hint));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches};
    use garland_copy::spec::SourceSpec;

    use super::*;

    /// A copy that no command line asks for has the options of one without options.
    #[test]
    fn a_spec_and_a_command_line_have_the_same_defaults() {
        let command = Cp::augment_args(Command::new("cp").no_binary_name(true));
        let matches = command.get_matches_from(["Cargo.toml", "n1:/x"]);
        let args = Cp::from_arg_matches(&matches).expect("a valid command line");
        let task = Task::new(&args).expect("a task");
        let typed = parse(&args, &task).expect("a copy");
        let source = SourceSpec { paths: vec!["Cargo.toml".into()], ..SourceSpec::default() };
        let made = CopySpec::new(source, args.run.launch.clone());
        assert_eq!(format!("{typed:?}"), format!("{made:?}"));
    }
}
