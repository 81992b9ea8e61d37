//! `garland demo`: copies a file to all nodes of a small cluster that is emulated on this machine.

mod scale;

use std::path::Path;

use garland_core::printable;
use garland_core::units::Nanos;
use garland_lab::Spec;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

use self::scale::Scale;
use crate::ScenarioLab;
use crate::args::Demo;

/// The name of the file on the nodes.
const NAME: &str = "file";

/// The file for the scaling curve is smaller than the copied file by this factor.
const SMALLER: u64 = 8;

/// Runs `garland demo`: builds the cluster, copies, verifies, writes a report, and removes
/// everything but the report and its runs.
pub fn run(demo: &Demo) -> Result<Exit, Failure> {
    let places = Places::open()?;
    let run = Run::begin(&places, "demo")?;
    let interrupts = Interrupts::catch().or_nothing("cannot install a handler for Ctrl-C")?;
    let Scale { nodes, rate, length, measured } = Scale::choose(demo, &run, &interrupts)?;
    let started = clock::now_ns();
    let spec = Spec::switch("lab", nodes, Some(rate.bits_per_second()));
    let lab = ScenarioLab::build(&run, &interrupts, spec, length * (u64::from(nodes) + 2))?;
    let took = Nanos(clock::now_ns() - started);
    garland_terminal::outln!(
        "1. a cluster: {nodes} nodes and a head on one switch at {rate}, built in {took}"
    );
    if let Some(measured) = measured {
        garland_terminal::outln!(
            "              without limits its processors copy at {measured}: the wires are slower"
        );
    }
    let source = lab.random_file("source", length)?;
    let list = format!("lab:n[1-{nodes}]");
    lab.garland(&["up", &list])?;
    garland_terminal::outln!("2. agents:    garland up '{list}'");
    let target = format!("{list}:/{NAME}");
    garland_terminal::outln!("3. the copy:  garland cp source '{target}'");
    let file = source.to_string_lossy();
    let (table, first) = run_of(&lab, &["cp", &file, &target])?;
    output::say(format_args!("{}", String::from_utf8_lossy(&table)));
    output::say(format_args!("{}", why(&lab, &first)?));
    for at in 1..=nodes {
        let node = format!("n{at}");
        if !lab.verify(&node, NAME, &source)? {
            // The run outlives the lab, so that its traces can be read.
            lab.keep_runs(&places, std::slice::from_ref(&first))?;
            return Err(differs(&node, &source, &places.folder("runs")?.join(&first)));
        }
    }
    garland_terminal::outln!("4. the check: cmp finds every node's file equal to the source");
    let (report, runs) = reported(&run, &lab, nodes, &list, first, length)?;
    output::say(format_args!("5. a report:  {report}"));
    lab.garland(&["down", &list])?;
    lab.keep_runs(&places, &runs)?;
    lab.end()?;
    garland_terminal::outln!("6. clean up:  agents and cluster are removed");
    Ok(Exit::Done)
}

/// Returns the failure of a copy after which the file of `node` differs from `source`; `kept` is
/// the directory of the copy's run.
fn differs(node: &str, source: &Path, kept: &Path) -> Failure {
    let source = printable::path(source);
    let kept = printable::path(kept);
    Failure::fault(format!("cannot confirm the copy: lab:{node}:/{NAME} differs from {source}"))
        .hint(format!("this should never happen: report it, with the directory {kept}"))
}

/// Returns what limited the copy `run`, and how to see more.
fn why(lab: &ScenarioLab<'_>, run: &str) -> Result<String, Failure> {
    let explained = lab.garland(&["explain", run])?;
    let explained = String::from_utf8_lossy(&explained);
    let is_key = |line: &&str| ["fault", "next", "note"].iter().any(|word| line.starts_with(word));
    let mut lines: String =
        explained.lines().filter(is_key).map(|line| format!("{line}\n")).collect();
    lines.push_str(&format!("more    garland explain {run}\n"));
    Ok(lines)
}

/// Runs a command in the lab. Returns its standard output, and the name of the run that it
/// recorded.
fn run_of(lab: &ScenarioLab<'_>, words: &[&str]) -> Result<(Vec<u8>, String), Failure> {
    let output = lab.garland(words)?;
    let run = Run::find(&lab.places()?, "last", "result.json", "a result")?;
    Ok((output, run.name().to_owned()))
}

/// Copies a smaller file to growing numbers of nodes, up to all `nodes`, for a scaling curve, and
/// measures the wires of `list`, which names all of them.
/// Writes a report of these runs and of the run `first`. Returns the first line that the report
/// command printed, and the names of the reported runs.
fn reported(
    run: &Run,
    lab: &ScenarioLab<'_>,
    nodes: u32,
    list: &str,
    first: String,
    length: u64,
) -> Result<(String, Vec<String>), Failure> {
    let small = lab.random_file("small", length / SMALLER)?.to_string_lossy().into_owned();
    let mut counts = vec![1, nodes.div_ceil(4), nodes.div_ceil(2), nodes];
    counts.dedup();
    let mut names = vec![first];
    for count in counts {
        let target = format!("lab:n[1-{count}]:/small-{count}");
        names.push(run_of(lab, &["cp", &small, &target])?.1);
    }
    if nodes > 1 {
        names.push(run_of(lab, &["wires", list])?.1);
    }
    let file = run.folder().join("report.html").to_string_lossy().into_owned();
    let mut words = vec!["report", "-o", &file];
    words.extend(names.iter().map(String::as_str));
    let output = lab.garland(&words)?;
    let output = String::from_utf8_lossy(&output);
    // The other lines are doubts about the forecast, which the report contains as well.
    Ok((output.lines().take(1).map(|line| format!("{line}\n")).collect(), names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_differs_is_a_fault_with_both_files_and_what_to_report() {
        let failure = differs("n3", Path::new("/s/source"), Path::new("/s/runs/1-cp"));
        assert_eq!(failure.exit(), Exit::Fault);
        let wanted = "error: cannot confirm the copy: lab:n3:/file differs from /s/source\n\
                      hint: this should never happen: report it, with the directory /s/runs/1-cp\n";
        assert_eq!(failure.to_string(), wanted);
    }
}
