//! What shells offer when the user presses Tab: options and commands by the definition of the
//! command line, and names of runs, nodes and topologies by what exists. The shell runs this
//! program for it.

use std::ffi::OsStr;

use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use garland_copy::command_line::CommandLine;
use garland_core::cluster::nodelist::fold;
use garland_fleet::context::Context;
use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_fleet::launch::lab;
use garland_results::listed::{self, ListedRun};
use garland_state::places::Places;
use garland_state::run::LAST;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use garland_topology::scenarios;

use crate::args::Args;

/// The environment variable by which a shell's script asks for candidates; its value is the shell.
const VARIABLE: &str = "GARLAND_COMPLETE";

/// The most runs that are offered.
const RUNS: usize = 50;

/// The words of the command line as zsh has them, and without their quotes, as far as the cursor:
/// of the last one, zsh has set apart a quote that is open.
const ZSH_WORDS: &str = r#""${words[@]}""#;
const ZSH_UNQUOTED: &str = r#""${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}""#;

/// Prints candidates and exits, if a shell asks for them.
pub fn answer() {
    CompleteEnv::with_factory(|| with_names(Args::command())).var(VARIABLE).complete();
}

/// Prints the script by which a shell asks this program.
pub fn script(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let known = shells.completer(&shell.to_string());
    let known = known.ok_or_else(|| Failure::usage(format!("no completion for {shell}")))?;
    known
        .write_registration(VARIABLE, "garland", "garland", "garland", &mut script)
        .or_nothing("cannot write the completion script")?;
    if shell == Shell::Zsh {
        // The words as the program would get them. Otherwise nothing begins with an open quote.
        let text = String::from_utf8_lossy(&script).replace(ZSH_WORDS, ZSH_UNQUOTED);
        script = text.into_bytes();
        // The file is also the function that zsh loads when the user presses Tab for the first
        // time.
        script.extend(b"\nif [ \"$funcstack[1]\" = _garland ]; then\n    _clap_dynamic_completer_garland \"$@\"\nfi\n");
    }
    if shell == Shell::Bash {
        // Bash would take what follows a colon for a word of its own, and nearly all paths here
        // have one.
        script.extend(b"\nCOMP_WORDBREAKS=${COMP_WORDBREAKS//:/}\n");
    }
    output::print_bytes(&script)?;
    Ok(Exit::Done)
}

/// Adds to all arguments that name a run, nodes or a topology what there is.
fn with_names(command: Command) -> Command {
    let below: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    // These take names for content, which only agents know.
    let named = ["publish", "get", "names", "unpublish"].contains(&command.get_name());
    let command_name = command.get_name().to_owned();
    let command =
        command.mut_args(|arg| match names_of(&arg).filter(|_| !named || arg.get_id() != "name") {
            Some(Names::Runs(_)) => {
                let which = runs_for(&command_name, arg.get_id().as_str());
                arg.add(ArgValueCompleter::new(Names::Runs(which)))
            }
            Some(names) => arg.add(ArgValueCompleter::new(names)),
            None => arg,
        });
    below.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_names))
}

/// What an argument names.
#[derive(Clone, Copy)]
enum Names {
    /// Runs that pass this test.
    Runs(fn(&ListedRun) -> bool),
    Nodes,
    /// Files of this machine, or a directory of nodes.
    Paths,
    Topologies,
}

/// Returns what an argument names; `None` for all others.
fn names_of(arg: &Arg) -> Option<Names> {
    let values = arg.get_value_names().unwrap_or_default();
    match arg.get_id().as_str() {
        "run" | "runs" => Some(Names::Runs(|_| true)),
        _ if values.iter().any(|value| *value == "RUN") => Some(Names::Runs(|_| true)),
        "nodes" if arg.is_positional() => Some(Names::Nodes),
        "path" | "paths" | "what" if arg.is_positional() => Some(Names::Paths),
        "topology" => Some(Names::Topologies),
        "name" if arg.is_positional() && values == ["NAME"] => Some(Names::Topologies),
        _ => None,
    }
}

impl ValueCompleter for Names {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let (mut found, files) = match self {
            Self::Runs(which) => (runs(*which), true),
            Self::Nodes => (nodes(""), false),
            Self::Paths => (nodes(":"), true),
            Self::Topologies => (list_topologies(), true),
        };
        let begun = current.as_encoded_bytes();
        found.retain(|one| one.get_value().as_encoded_bytes().starts_with(begun));
        // A run is also found by its directory, a topology by its file.
        if files && (found.is_empty() || matches!(self, Self::Paths)) {
            found.extend(PathCompleter::any().complete(current));
        }
        found
    }
}

/// Returns which runs an option or argument of a command takes.
fn runs_for(command: &str, arg: &str) -> fn(&ListedRun) -> bool {
    match (command, arg) {
        ("explain", _) => |run| run.has_traces,
        ("cp", "resume") => |run| !run.is_running && CommandLine::is_repeatable(&run.folder),
        ("cp", "join") => |run| run.is_running && run.kind == "cp",
        _ => |_| true,
    }
}

/// Returns those of the last runs that are `wanted`, the last one first.
fn runs(wanted: fn(&ListedRun) -> bool) -> Vec<CompletionCandidate> {
    let stored = Places::open().and_then(|places| listed::last(&places, RUNS)).unwrap_or_default();
    let candidate = |run: &ListedRun| {
        let about = format!("{} ago: {}", run.age(), run.words());
        CompletionCandidate::new(&run.run).help(Some(about.into()))
    };
    let last = CompletionCandidate::new(LAST).help(Some("the last one".into()));
    [last].into_iter().chain(stored.iter().rev().filter(|run| wanted(run)).map(candidate)).collect()
}

/// Returns the groups and nodes of the cluster file, and the nodes of labs, with `end` after each.
fn nodes(end: &str) -> Vec<CompletionCandidate> {
    let inventory = Inventory::open(&Context::default()).ok();
    let cluster = inventory.as_ref().and_then(Inventory::cluster);
    let mut names = Vec::new();
    if let Some(cluster) = cluster {
        names.push("@all".to_owned());
        names.extend(cluster.groups.keys().map(|group| format!("@{group}")));
        names.extend(cluster.nodes.iter().map(|node| node.name.clone()));
    }
    let labs = Places::open().and_then(|places| lab::state(&places)).ok();
    for lab in labs.and_then(|labs| labs.list().ok()).unwrap_or_default() {
        let nodes = lab.spec.topology.nodes.iter().skip(1).map(|node| node.name.as_str());
        names.push(format!("{LAB_PREFIX}{}", fold(&nodes.collect::<Vec<_>>())));
    }
    names.iter().map(|name| CompletionCandidate::new(format!("{name}{end}"))).collect()
}

/// Returns the built-in topologies.
fn list_topologies() -> Vec<CompletionCandidate> {
    scenarios::OWN.iter().map(|(name, _)| CompletionCandidate::new(name)).collect()
}
