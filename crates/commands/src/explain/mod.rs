//! `garland explain`: shows where the time of a copy went.

use garland_analysis::ledger;
use garland_fleet::context::Context;
use garland_results::explain::{ExplainResult, Kept};
use garland_results::head::{Phases, show};
use garland_state::failed_copy::FailedCopy;
use garland_state::places::Places;
use garland_state::run::LAST;
use garland_state::traces::Traced;
use garland_terminal::failure::{Exit, Failure};

use crate::args::Explain;

/// Returns the explanation of a copy's time, and whether every trace could be read.
pub fn explained(traced: &Traced, mut phases: Phases) -> Result<(ExplainResult, bool), Failure> {
    let kept = Kept::read(traced)?;
    phases.end("read");
    let of = kept.run();
    let clocks = of.clocks();
    let ledger = ledger::explain(&of, &clocks);
    phases.end("analysis");
    let result = ExplainResult::new(&traced.run, &kept, &ledger, &clocks, phases);
    Ok((result, kept.is_whole()))
}

/// Explains the run that `asked` specifies.
pub fn run(context: &Context, asked: &Explain) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let places = Places::open()?;
    let found = Traced::find_copy(&places, &asked.run, asked.node.as_deref());
    if asked.run == LAST {
        let before = found.as_ref().ok().map(|traced| &traced.run);
        if let Some(FailedCopy { error }) = FailedCopy::after(&places, before) {
            let failure = Failure::nothing(format!(
                "cannot explain the last copy: it ended with an error: {error}"
            ));
            return Err(match before {
                Some(run) => {
                    let name = run.name();
                    failure.hint(format!("to explain the copy before it: garland explain {name}"))
                }
                None => failure,
            });
        }
    }
    let traced = found?;
    let (result, is_whole) = explained(&traced, phases)?;
    show(context.json, &result)?;
    Ok(if is_whole { Exit::Done } else { Exit::SomeFailed })
}
