//! Prints the plan of a copy, or its result, and how it goes on.

use garland_copy::changes::Changes;
use garland_copy::command_line::CommandLine;
use garland_copy::planned::{DryRun, PlannedCopy};
use garland_copy::source::CopySource;
use garland_copy::spec::CopySpec;
use garland_core::plan::Plan;
use garland_core::printable;
use garland_fleet::context::Context;
use garland_results::copy::{CopyResult, NodeResult};
use garland_results::head::{NodeVerdict, print_json};
use garland_results::tree::TreeResult;
use garland_state::run::Run;
use garland_sys::new_file;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::{output, verdicts};
use serde::Serialize;

/// The schema of a plan that is printed instead of a result, with its version.
const PLAN_SCHEMA: &str = "garland.plan/1";

/// The schema of what a copy of a tree would do, with its version.
const CHANGES_SCHEMA: &str = "garland.changes/1";

/// Prints the result. It is printed to standard error if standard output is used for the bytes of
/// the copy (`path` is `-`) or for the digests of `--digest`. With `--quiet` only a JSON object and
/// these digests are printed of a copy that did everything.
pub fn tell(
    context: &Context,
    spec: &CopySpec,
    path: &[u8],
    result: &CopyResult,
) -> Result<(), Failure> {
    let is_output = path == b"-";
    // Nodes that failed are named even if `--min-ok` allows them to.
    let is_told = !spec.run.is_quiet || result.exit(None) != Exit::Done;
    if context.json && is_output {
        let text = serde_json::to_string_pretty(result).or_nothing("cannot write the result")?;
        output::warn_json(&text);
        Ok(())
    } else if context.json {
        print_json(result)
    } else if spec.checks.read_back.checksum.is_some() {
        if is_told {
            output::warn(result);
        }
        output::print_bytes(&result.sums())
    } else if !is_told {
        Ok(())
    } else if is_output {
        output::warn(result);
        Ok(())
    } else {
        output::print(result)
    }
}

/// Stores and prints the result, and how the copy goes on if it was interrupted, or nodes died
/// or were not reached.
/// Returns the exit code.
pub fn end_with(
    context: &Context,
    spec: &CopySpec,
    path: &[u8],
    run: &Run,
    result: &CopyResult,
) -> Result<Exit, Failure> {
    run.keep("result.json", result)?;
    let exit = result.exit(spec.slow.min_ok);
    tell(context, spec, path, result).map_err(|failure| failure.after(exit))?;
    let is_lost = |node: &NodeResult| !node.end.is_ok() && node.end.verdict != NodeVerdict::Failed;
    // Where no node was reached, the same command is as good.
    let is_late = |node: &NodeResult| node.is_absent && exit != Exit::Nothing;
    let goes_on =
        exit == Exit::Interrupted || result.nodes.iter().any(|node| is_lost(node) || is_late(node));
    // What standard output has received cannot be taken back.
    if goes_on && path != b"-" && !spec.run.is_quiet && !context.json {
        CommandLine::tell_how_to_resume(run);
    }
    Ok(exit)
}

/// Saves a plan to the file of `--save-plan`.
pub fn save(spec: &CopySpec, planned: &impl Serialize) -> Result<(), Failure> {
    let Some(file) = &spec.run.plan_file else { return Ok(()) };
    let text = serde_json::to_string_pretty(planned).or_nothing("cannot write the plan")?;
    new_file::write_or_replace(file, text.as_bytes())
        .or_nothing(format!("cannot write {}", printable::path(file)))
}

/// Prints a plan, why its order was chosen, and which files of a tree it copies and removes
/// (`--dry-run`).
pub fn tell_plan(
    copy: &PlannedCopy<'_>,
    context: &Context,
    spec: &CopySpec,
) -> Result<Exit, Failure> {
    if context.json {
        print_json(&PrintedPlan::new(copy.plan()))?;
    } else {
        print_plan(copy.plan(), copy.why(), copy.source().tree().as_ref())?;
        if let (true, CopySource::File(path, _)) = (spec.run.names_entries, copy.source()) {
            // Its content is compared as it is read.
            let shown = printable::path(path);
            output::print(format_args!(
                "copy    {shown}, except to nodes that have its content\n"
            ))?;
        }
        if spec.source.removes_others {
            // Only the nodes know the names of these files.
            let line = "delete  files on the nodes that these directories here do not have (-v names them)\n";
            output::print(line)?;
        }
    }
    let tree = copy.source().tree();
    Ok(Exit::of_work(tree.is_none_or(|tree| tree.is_whole()), true, false))
}

fn print_plan(plan: &Plan, why: Option<&str>, tree: Option<&TreeResult>) -> Result<(), Failure> {
    output::print(plan)?;
    why.map_or(Ok(()), |why| output::print(format_args!("order: {why}\n")))?;
    tree.map_or(Ok(()), output::print)
}

/// A plan that is printed instead of a result.
#[derive(Serialize)]
struct PrintedPlan<'a> {
    schema: &'static str,
    #[serde(flatten)]
    plan: &'a Plan,
}

impl<'a> PrintedPlan<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { schema: PLAN_SCHEMA, plan }
    }
}

/// What a copy of a tree would do.
#[derive(Serialize)]
struct Would<'a> {
    schema: &'static str,
    /// The plan of the whole tree.
    plan: &'a Plan,
    /// What would change; none if the nodes could not be asked.
    changes: Option<&'a Changes>,
    /// The nodes that could not be asked.
    failed: Vec<Unasked<'a>>,
}

/// A node that could not be asked what would change.
#[derive(Serialize)]
struct Unasked<'a> {
    /// The node's name.
    node: &'a str,
    /// Why it could not be asked.
    reason: &'a str,
}

/// Prints what a copy of a tree would do (`--dry-run --verbose`).
pub fn tell_dry_run(dry_run: &DryRun, context: &Context, spec: &CopySpec) -> Result<Exit, Failure> {
    let DryRun { plan, why, tree, changes, unasked } = dry_run;
    // What is left out of the tree here is in none of the copies.
    let is_whole = tree.as_ref().is_none_or(TreeResult::is_whole);
    let all = unasked.is_empty() && is_whole;
    let exit = Exit::of_work(all, unasked.len() + 1 < plan.nodes.len(), false);
    if context.json {
        let failed = unasked.iter().map(|it| Unasked { node: &it.name, reason: &it.reason });
        let changes = changes.as_ref();
        let would = Would { schema: CHANGES_SCHEMA, plan, changes, failed: failed.collect() };
        return print_json(&would).map(|()| exit);
    }
    if !spec.run.is_quiet {
        print_plan(plan, why.as_deref(), tree.as_ref())?;
    }
    changes.as_ref().map_or(Ok(()), output::print)?;
    let failed = unasked.iter();
    let failed = failed.map(|it| ("failed", Some(it.reason.as_str()), it.name.as_str()));
    output::print(verdicts::folded(failed))?;
    Ok(exit)
}

/// Prints the plans of a copy from nodes (`--dry-run`).
pub fn tell_plans(context: &Context, plans: &[&Plan]) -> Result<(), Failure> {
    match plans {
        [plan] if context.json => print_json(&PrintedPlan::new(plan)),
        _ if context.json => {
            let plans: Vec<_> = plans.iter().map(|plan| PrintedPlan::new(plan)).collect();
            print_json(&plans)
        }
        _ => plans.iter().try_for_each(output::print),
    }
}
