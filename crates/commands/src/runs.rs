//! `garland runs`: lists, shows and removes stored runs.

use garland_core::units::bytes;
use garland_fleet::context::Context;
use garland_results::head::{self, Head, Phases};
use garland_results::listed::{self, ListedRun};
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::terminal;
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;
use serde::Serialize;

use crate::args::{Runs, RunsCommand};

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
        Some(RunsCommand::Show { .. }) => runs.iter().try_for_each(output::print)?,
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
    let counts: Vec<String> = runs.iter().map(ListedRun::counted).collect();
    let wide = counts.iter().map(String::len).max().unwrap_or(0).max("nodes".len());
    // On a terminal, the command lines get what is left of a line.
    let columns = terminal::output_size().map(|(columns, _)| usize::from(columns));
    let room = columns.map_or(WORDS, |all| all.saturating_sub(61 + wide).clamp(10, WORDS));
    let mut text = format!(
        "{:<28}{:>7}{:>9}{:>11}  {:<wide$}  command\n",
        "run", "age", "took", "size", "nodes"
    );
    for (run, count) in runs.iter().zip(counts) {
        let age = run.age();
        let took = run.took();
        let size = run.bytes.map_or_else(|| "-".to_owned(), bytes::format);
        let words = run.words();
        let short: String = words.chars().take(room).collect();
        let more = if short.len() < words.len() { ".." } else { "" };
        text.push_str(&format!(
            "{:<28}{age:>7}{took:>9}{size:>11}  {count:<wide$}  {short}{more}\n",
            run.run
        ));
    }
    text
}
