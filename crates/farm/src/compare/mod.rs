//! `garland farm compare`: several runs of the same jobs side by side, rebased and ranked.

mod label;
mod result;
mod table;
mod told;

use crate::args::FarmCompare;
use garland_fleet::context::Context;
use garland_results::head::{Head, Phases, print_json};
use garland_results::places::Places;
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;
use result::CompareResult;
pub use told::FarmReport;

/// Compares.
pub fn run(context: &Context, asked: &FarmCompare) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let mut runs = asked
        .runs
        .iter()
        .map(|run| FarmReport::find(&places, run))
        .collect::<Result<Vec<_>, _>>()?;
    let base = match &asked.base {
        None => 0,
        Some(name) => {
            let base = FarmReport::find(&places, name)?;
            let known = runs.iter().position(|run| run.name == base.name);
            known.unwrap_or_else(|| {
                runs.insert(0, base);
                0
            })
        }
    };
    for price in &asked.price {
        set_price(&mut runs, price)?;
    }
    same_jobs(&runs)?;
    phases.end("read");
    let head = Head::new("garland.farm-compare/1", None, phases);
    let result = CompareResult::new(head, &runs, base);
    if context.json {
        print_json(&result)?
    } else {
        output::print(&result)?
    }
    Ok(Exit::Done)
}

fn set_price(runs: &mut [FarmReport], price: &str) -> Result<(), Failure> {
    let wrong = || {
        Failure::usage(format!("--price {price}: write a run of these and an amount, RUN=AMOUNT"))
    };
    let (name, amount) = price.rsplit_once('=').ok_or_else(wrong)?;
    let amount: f64 = amount.parse().map_err(|_| wrong())?;
    if !(amount.is_finite() && amount >= 0.0) {
        return Err(wrong());
    }
    let known = runs.iter_mut().find(|run| run.name == name || run.asked == name);
    known.ok_or_else(wrong)?.summary.price = Some(amount);
    Ok(())
}

fn same_jobs(runs: &[FarmReport]) -> Result<(), Failure> {
    let Some(first) = runs.first() else { return Ok(()) };
    let all = first.summary.jobs.all;
    let other = runs.iter().find(|run| run.summary.jobs.all != all);
    if let Some(other) = other {
        let (name, many) = (&other.name, other.summary.jobs.all);
        return Err(Failure::usage(format!(
            "{} is of {all} jobs, and {name} of {many}",
            first.name
        ))
        .hint("only runs of the same jobs can be compared"));
    }
    match runs.iter().find(|run| run.summary.jobs.done != all) {
        Some(run) => {
            let (name, jobs) = (&run.name, &run.summary.jobs);
            Err(Failure::usage(format!("{name} has done {} of {all} jobs only", jobs.done))
                .hint(format!("garland farm run --resume {name} does the others")))
        }
        None => Ok(()),
    }
}
