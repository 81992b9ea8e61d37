//! The timeline of a report, from the same data as an export.

use garland_core::printable;
use garland_core::trace::Origin;
use garland_report::page::{Nics, Timeline};
use garland_state::traces::{self, Traced};
use garland_terminal::failure::Failure;

use super::export::take_survey;

/// Returns the timeline of a copy whose command took `elapsed_ns`, and whether all traces together
/// are small enough for the ledger. `nics` returns the NICs of a node. Problems are added to
/// `notes`.
pub fn timeline(
    traced: &Traced,
    elapsed_ns: u64,
    nics: &dyn Fn(&Origin) -> Nics,
    notes: &mut Vec<String>,
) -> Result<(Timeline, bool), Failure> {
    let survey = take_survey(traced)?;
    let first = survey.path.first().map(|step| step.begin_ns);
    let begin_ns = first.unwrap_or_else(|| survey.begin_ns());
    let mut timeline = Timeline::new(begin_ns, elapsed_ns, survey.known.len());
    for known in &survey.known {
        let place = known.origin.index;
        match traces::read(&known.path) {
            Ok((trace, _)) => {
                let on_head = |at_ns| survey.clocks.on_head(place, at_ns);
                let error_ns = survey.clocks.error_ns(place);
                let of_node = nics(&trace.origin);
                timeline.node(&trace, error_ns, &on_head, &of_node);
            }
            Err(reason) => {
                let shown = printable::path(&known.path);
                notes.push(format!("cannot read the trace {shown}: {reason}"));
            }
        }
    }
    timeline.names(if traced.planned.is_empty() { &traced.peers } else { &traced.planned });
    timeline.path(&survey.path);
    Ok((timeline, survey.small))
}
