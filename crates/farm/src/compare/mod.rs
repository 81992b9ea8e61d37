//! `garland farm compare`: compares several runs of the same jobs with a base run, and ranks them.

mod label;
mod result;
mod table;

use garland_fleet::context::Context;
use garland_results::head::{Head, Phases, print_json};
use garland_state::places::Places;
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;

use crate::args::FarmCompare;
use crate::result::FarmResult;
use result::CompareResult;

/// Reads the runs, compares them, and prints the comparison.
pub fn run(context: &Context, asked: &FarmCompare) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let find = |run: &String| FarmResult::find(&places, run);
    let mut runs = asked.runs.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let mut names = asked.runs.clone();
    let base = match &asked.base {
        None => 0,
        Some(name) => {
            let base = find(name)?;
            let known = runs.iter().position(|run| run.run() == base.run());
            known.unwrap_or_else(|| {
                runs.insert(0, base);
                names.insert(0, name.clone());
                0
            })
        }
    };
    for price in &asked.price {
        set_price(&names, &mut runs, price)?;
    }
    same_jobs(&runs)?;
    phases.end("read");
    let head = Head::new("garland.farm-compare/2", None, phases);
    let result = CompareResult::new(head, &runs, base);
    if context.json {
        print_json(&result)?
    } else {
        output::print(&result)?
    }
    Ok(Exit::Done)
}

/// Sets the price of one of `runs` from `RUN=AMOUNT`. RUN is the run's name, or the name by which
/// the user gave it, in `names`.
fn set_price(names: &[String], runs: &mut [FarmResult], price: &str) -> Result<(), Failure> {
    let wrong = || {
        Failure::usage(format!("--price {price}: write RUN=AMOUNT, with one of the compared runs"))
    };
    let (name, amount) = price.rsplit_once('=').ok_or_else(wrong)?;
    let amount: f64 = amount.parse().map_err(|_| wrong())?;
    if !(amount.is_finite() && amount >= 0.0) {
        return Err(wrong());
    }
    let mut named = runs.iter_mut().zip(names);
    let known = named.find(|(run, own)| run.run() == name || *own == name);
    known.ok_or_else(wrong)?.0.summary.price = Some(amount);
    Ok(())
}

/// Fails unless all runs have the same number of jobs, and all jobs are done.
fn same_jobs(runs: &[FarmResult]) -> Result<(), Failure> {
    let Some(first) = runs.first() else { return Ok(()) };
    let all = first.summary.jobs.all;
    let other = runs.iter().find(|run| run.summary.jobs.all != all);
    if let Some(other) = other {
        let name = other.run();
        let many = other.summary.jobs.all;
        return Err(Failure::usage(format!(
            "{} has {all} jobs, and {name} has {many}",
            first.run()
        ))
        .hint("only runs of the same jobs can be compared"));
    }
    match runs.iter().find(|run| run.summary.jobs.done != all) {
        Some(run) => {
            let name = run.run();
            let jobs = &run.summary.jobs;
            Err(Failure::usage(format!(
                "{name} is incomplete: {} of {all} jobs are done",
                jobs.done
            ))
            .hint(format!("garland farm run --resume {name} runs the others")))
        }
        None => Ok(()),
    }
}
