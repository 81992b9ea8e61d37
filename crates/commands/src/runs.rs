//! `garland runs`: lists, shows and removes stored runs.

use std::collections::BTreeMap;

use garland_core::printable;
use garland_core::units::{Nanos, bytes};
use serde::Serialize;

use crate::args::{Runs, RunsCommand};
use garland_fleet::context::Context;
use garland_results::head::{self, Head, Phases};
use garland_results::places::Places;
use garland_results::run::Run;
use garland_results::run::listed::{self, ListedRun};
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::{output, verdicts};

/// The most characters of a command line in the list.
const WORDS: usize = 60;

/// The result object `garland.runs/1`.
#[derive(Serialize)]
struct RunsResult {
    #[serde(flatten)]
    head: Head,
    /// The runs, the last one at the end.
    runs: Vec<ListedRun>,
}

/// Lists, shows or removes runs.
///
/// # Errors
/// When the state directory cannot be read, or a named run does not exist.
pub fn run(context: &Context, asked: &Runs) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let find = |name: &str| Run::find_with(&places, name, &[], "a run");
    let runs = match &asked.command {
        None => listed::last(&places, asked.last)?,
        Some(RunsCommand::Show { run }) => listed::of(&find(run)?).into_iter().collect(),
        Some(RunsCommand::Rm { runs }) => {
            // All of them are found before one is removed.
            let found = runs.iter().map(|run| find(run)).collect::<Result<Vec<_>, _>>()?;
            let listed = found.iter().filter_map(listed::of).collect();
            found.into_iter().try_for_each(Run::remove)?;
            listed
        }
    };
    phases.end("read");
    if context.json {
        let head = Head::new("garland.runs/1", None, phases);
        head::print_json(&RunsResult { head, runs })?;
        return Ok(Exit::Done);
    }
    match &asked.command {
        None => output::print(list(&runs))?,
        Some(RunsCommand::Show { .. }) => {
            runs.iter().try_for_each(|run| output::print(show(run)))?
        }
        Some(RunsCommand::Rm { .. }) => {
            runs.iter().for_each(|run| garland_terminal::outln!("removed {}", run.run));
        }
    }
    Ok(Exit::Done)
}

/// Returns the table of runs.
fn list(runs: &[ListedRun]) -> String {
    if runs.is_empty() {
        return "no runs yet: every command that moves bytes stores one\n".to_owned();
    }
    let mut text =
        format!("{:<28}{:>7}{:>10}{:>12}  {:<18}command\n", "run", "age", "took", "size", "nodes");
    for run in runs {
        let (age, took) = (run.age(), took(run));
        let size = run.bytes.map_or_else(|| "-".to_owned(), bytes::format);
        let words = words(run);
        let short: String = words.chars().take(WORDS).collect();
        let more = if short.len() < words.len() { ".." } else { "" };
        text.push_str(&format!(
            "{:<28}{age:>7}{took:>10}{size:>12}  {:<18}{short}{more}\n",
            run.run,
            counted(run)
        ));
    }
    text
}

/// Returns all that is known of a run.
fn show(run: &ListedRun) -> String {
    let mut text = format!(
        "run     {}\ncommand {}\nage     {}\ntook    {}\n",
        run.run,
        words(run),
        run.age(),
        took(run)
    );
    if let Some(size) = run.bytes {
        text.push_str(&format!("size    {}\n", bytes::format(size)));
    }
    let nodes = run.nodes.iter();
    text.push_str(&verdicts::folded(
        nodes.map(|node| (node.verdict.as_str(), node.reason.as_deref(), node.name.as_str())),
    ));
    text.push_str(&format!("files   {}\n", run.folder.display()));
    if run.has_traces {
        text.push_str(&format!("trace   garland explain {0}, garland report {0}\n", run.run));
    }
    text
}

/// Returns the command line with the program's name, or the kind of command if it was not stored.
fn words(run: &ListedRun) -> String {
    let line = run.command.iter().skip(1).map(|word| printable::line(word)).collect::<Vec<_>>();
    if line.is_empty() { run.kind.clone() } else { line.join(" ") }
}

/// Returns how many nodes have which verdict.
fn counted(run: &ListedRun) -> String {
    if run.is_running {
        return "running".to_owned();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &run.nodes {
        *counts.entry(node.verdict.as_str()).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    if counts.is_empty() { "-".to_owned() } else { counts.join(", ") }
}

fn took(run: &ListedRun) -> String {
    run.elapsed_ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string())
}
