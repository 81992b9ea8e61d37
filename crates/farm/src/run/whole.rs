//! `garland farm run`: reads jobs, runs them with an engine, and prints the result.

use std::sync::Arc;

use garland_core::farm::Job;
use garland_core::printable;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_results::head::{Phases, print_json};
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::streams::{Arrangement, Streams};
use garland_terminal::{errln, output};

use super::account::Account;
use super::agents::Agents;
use super::driver::{Driver, Work};
use super::ledger::{Ledger, OUTPUT};
use super::list;
use super::settings::Settings;
use super::slurm::Slurm;
use crate::args::{DataName, EngineName, FarmRun};
use crate::result::{Brief, FarmResult};

/// Begins or resumes a run, and prints its result.
pub fn run(context: &Context, asked: &FarmRun) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("cannot catch signals")?);
    let inventory = Inventory::open(context)?;
    let places = Places::open()?;
    if let Some(name) = asked.resume.as_ref().filter(|_| asked.analysis) {
        return show(context, asked, &places, name);
    }
    let (run, settings, jobs) = match &asked.resume {
        Some(name) => {
            let (run, settings, jobs) = Settings::find(&places, name)?;
            (run.held()?, settings, jobs)
        }
        None => begin(context, asked, &places)?,
    };
    let mut asked = asked.clone();
    if asked.resume.is_some() {
        asked.launch.lab = asked.launch.lab.or_else(|| settings.lab.clone());
        let folder = &settings.folder;
        std::env::set_current_dir(folder)
            .or_nothing(format!("cannot change to {}", printable::path(folder)))?;
    }
    let output = arrangement(context, &asked, &settings)?;
    let streams = output.map(|how| Streams::new(how, tags(&asked, &jobs), run.folder()));
    let mut ledger = Ledger::open(&run, jobs.len(), asked.quiet || context.json, streams)?;
    let left: Vec<Job> =
        jobs.iter().filter(|job| !ledger.journal().is_done(job.number)).cloned().collect();
    let before_ns = (ledger.last() * 1e9) as u64;
    let work = Work {
        context,
        asked: &asked,
        settings: &settings,
        run: &run,
        places: &places,
        inventory: &inventory,
        interrupts: &interrupts,
        began_ns: clock::now_ns().saturating_sub(before_ns),
        prints_output: output.is_some(),
    };
    let account = Account::open(&work)?;
    phases.end("reading");
    let ending = if left.is_empty() {
        if !asked.quiet && !context.json {
            let count = jobs.len();
            let name = run.name();
            errln!("nothing is left to do: all {count} jobs of {name} are done");
        }
        super::driver::Ending::default()
    } else {
        engine(settings.engine).run(&work, left, &mut ledger)?
    };
    phases.end("jobs");
    ledger.print_waiting();
    let unwritten = ledger.unwritten().clone();
    let records = ledger.close()?;
    let result = account.close(&work, phases, ending, records)?;
    run.keep("result.json", &result)?;
    let told = tell(
        &Telling { context, asked: &asked, run: &run, prints_output: output.is_some() },
        &result,
    );
    told.map_err(|failure| failure.after(result.exit()))?;
    if let Some(first) = unwritten.first() {
        let count = unwritten.len();
        errln!("error: cannot write all output of {count} of the jobs, beginning with job {first}");
    }
    // The jobs are done, but the user does not have what they said.
    let is_cut = !unwritten.is_empty() && result.exit() == Exit::Done;
    Ok(if is_cut { Exit::SomeFailed } else { result.exit() })
}

/// Prints the result of a run that is over, or was interrupted.
fn show(context: &Context, asked: &FarmRun, places: &Places, name: &str) -> Result<Exit, Failure> {
    let (run, ..) = Settings::find(places, name)?;
    let result = FarmResult::find(places, run.name())?;
    let telling = Telling { context, asked, run: &run, prints_output: false };
    tell(&telling, &result)?;
    Ok(result.exit())
}

/// How a result is printed.
struct Telling<'a> {
    context: &'a Context,
    asked: &'a FarmRun,
    run: &'a Run,
    /// Whether standard output has the output of jobs.
    prints_output: bool,
}

/// Prints the result of a run; to standard error if standard output has the output of jobs.
fn tell(telling: &Telling<'_>, result: &FarmResult) -> Result<(), Failure> {
    let Telling { context, asked, run, prints_output } = *telling;
    if context.json {
        return print_json(result);
    }
    if asked.quiet && !asked.analysis && result.exit() == Exit::Done {
        return Ok(());
    }
    let summary = match asked.analysis {
        true => result.to_string(),
        // Where output is printed, the words of failed jobs are on the screen.
        false => Brief { result, has_last_words: !prints_output }.to_string(),
    };
    let folder = run.folder().join(OUTPUT);
    let output = match folder.is_dir() {
        true => format!("output  {}\n", printable::path(&folder)),
        false => String::new(),
    };
    if prints_output {
        output::warn(format!("{summary}{output}"));
        return Ok(());
    }
    output::print(format!("{summary}{output}"))
}

/// Returns how the output of jobs is printed; none if it is not: the JSON has the place of standard
/// output, or the engine passes on none. Fails if the user wants that it is.
fn arrangement(
    context: &Context,
    asked: &FarmRun,
    settings: &Settings,
) -> Result<Option<Arrangement>, Failure> {
    let is_slurm = settings.engine == EngineName::Slurm;
    match asked.arranges() {
        true if context.json => Err(Failure::usage(
            "with --json, --group, --line-buffer, --keep-order and --tag have no effect",
        )),
        true if is_slurm => {
            Err(Failure::usage("the engine slurm does not pass on the output of jobs")
                .hint("omit --group, --line-buffer, --keep-order and --tag: the run's directory has the beginning and the end of each output; or use --engine agents"))
        }
        false if context.json || is_slurm => Ok(None),
        _ => Ok(Some(asked.arrangement())),
    }
}

/// Returns what stands before the lines of each job, in the order of the list; empty without
/// `--tag`.
fn tags(asked: &FarmRun, jobs: &[Job]) -> Vec<String> {
    let jobs = jobs.iter().filter(|_| asked.tag);
    jobs.map(|job| format!("{}\t", job.name)).collect()
}

/// Begins a run: reads the user's jobs, and stores them and the settings in the run's directory.
fn begin(
    context: &Context,
    asked: &FarmRun,
    places: &Places,
) -> Result<(Run, Settings, Vec<Job>), Failure> {
    let (jobs, nodes) = list::read(asked)?;
    let settings = Settings::new(asked, nodes, jobs.len())?;
    // With `--data there` only the nodes can check their files.
    if settings.engine == EngineName::Local || settings.data != DataName::There {
        list::check_outputs(&jobs, asked.overwrite)?;
    }
    if settings.data != DataName::There
        || (settings.engine == EngineName::Local && list::names_inputs(asked))
    {
        list::check_inputs(&jobs)?;
    }
    let has_no_output = |job: &Job| job.outputs.is_empty();
    if settings.data == DataName::Stage && !asked.quiet && jobs.iter().all(has_no_output) {
        errln!(
            "note    no output is named: what jobs write into their directories is removed with these; --out names it"
        );
    }
    // Before the run has a directory.
    arrangement(context, asked, &settings)?;
    let run = Run::begin(places, "farm")?;
    settings.keep(&run, &jobs)?;
    Ok((run, settings, jobs))
}

fn engine(name: EngineName) -> &'static dyn Driver {
    match name {
        EngineName::Local => &Agents::HERE,
        EngineName::Agents => &Agents::NODES,
        EngineName::Slurm => &Slurm,
    }
}
