//! `garland cp --join`: nodes that come into a copy that runs.

use std::fs;

use garland_sys::signal::Interrupts;
use serde::Serialize;
use serde_json::Value;

use crate::args::Cp;
use garland_fleet::context::Context;
use garland_fleet::join_listener::{self, Answer, DOOR};
use garland_results::head::{Head, Phases, print_json};
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use garland_terminal::verdicts::folded;

/// The result object `garland.join/2`.
#[derive(Debug, Serialize)]
struct Joined {
    #[serde(flatten)]
    head: Head,
    /// The copy's run.
    joined: String,
    /// How the copy ended for the nodes that joined: of its result, what is theirs.
    nodes: Vec<Value>,
}

/// Has the nodes of `cp.destination()` join the copy of `run`, and waits until that has ended.
pub fn run(context: &Context, cp: &Cp, run: &str) -> Result<Exit, Failure> {
    if !cp.sources().is_empty() {
        return Err(Failure::usage("--join takes one node list and no SOURCE")
            .hint("several lists are one: 'n1,n[5-6]'"));
    }
    let list = cp.destination().to_str().ok_or_else(|| Failure::usage("a node list is UTF-8"))?;
    let mut phases = Phases::begin();
    let interrupts = Interrupts::catch().or_nothing("catching Ctrl-C")?;
    let places = Places::open()?;
    let copy = Run::find(&places, run, DOOR, "a copy that nodes can join")?;
    if !join_listener::is_open(&copy) {
        return Err(over(&copy));
    }
    let names = match join_listener::ask(&copy, list, &interrupts)? {
        Some(Answer::Joining(names)) => names,
        Some(Answer::Refused(reason)) => return Err(Failure::usage(reason)),
        None if interrupts.have_come() => return Err(Failure::interrupted("joining")),
        None => return Err(over(&copy)),
    };
    if !cp.quiet && !context.json {
        garland_terminal::errln!("{list} joins {}, which goes on", copy.name());
    }
    phases.end("answer");
    join_listener::await_end(&copy, &interrupts)?;
    if interrupts.have_come() {
        // It is not this command's to end.
        return Err(Failure::interrupted("waiting for the copy, which goes on"));
    }
    phases.end("copy");
    let own = Run::begin(&places, "join")?;
    let joined = Joined {
        nodes: theirs(&copy, &names)?,
        joined: copy.name().to_owned(),
        head: Head::new("garland.join/2", Some(&own), phases),
    };
    own.keep("result.json", &joined)?;
    if context.json {
        print_json(&joined)?;
    } else {
        let said = |node: &Value, what: &str| node[what].as_str().map(str::to_owned);
        let verdicts: Vec<_> = joined
            .nodes
            .iter()
            .filter_map(|node| {
                Some((said(node, "verdict")?, said(node, "reason"), said(node, "name")?))
            })
            .collect();
        let verdicts = verdicts
            .iter()
            .map(|(verdict, reason, name)| (verdict.as_str(), reason.as_deref(), name.as_str()));
        output::print(folded(verdicts))?;
    }
    let all_ok = joined.nodes.iter().all(|node| node["verdict"] == "ok");
    Ok(if all_ok { Exit::Done } else { Exit::SomeFailed })
}

/// What the copy's result says of these nodes.
fn theirs(copy: &Run, names: &[String]) -> Result<Vec<Value>, Failure> {
    let path = copy.folder().join("result.json");
    let text =
        fs::read(&path).or_nothing(format!("the copy left no result: {}", path.display()))?;
    let result: Value =
        serde_json::from_slice(&text).or_nothing(format!("reading {}", path.display()))?;
    let nodes = result["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |name: &String| {
        let found = nodes.iter().find(|node| node["name"] == **name);
        found.cloned().unwrap_or_else(|| {
            let reason = "the copy was over before it came";
            serde_json::json!({ "name": name, "verdict": "failed", "reason": reason })
        })
    };
    Ok(names.iter().map(of).collect())
}

fn over(copy: &Run) -> Failure {
    Failure::usage(format!("the copy of {} is over: nobody can join it any more", copy.name()))
        .hint("a new copy sends what they lack: garland cp SOURCE NODES:PATH")
}
