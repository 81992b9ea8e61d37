//! `garland cp --join`: nodes that come into a copy that runs.

use garland_sys::signal::Interrupts;
use serde::Serialize;

use crate::args::Cp;
use garland_fleet::context::Context;
use garland_fleet::join_listener::{self, Answer, JOIN_DIR};
use garland_results::copy::{CopyResult, NodeResult};
use garland_results::head::{Head, NodeEnd, NodeVerdict, Phases, print_json};
use garland_results::kept::KeptResult;
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use garland_terminal::verdicts::folded;

/// What the result of the copy says of a node that joined.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Entry {
    /// It took part.
    Joined(Box<NodeResult>),
    /// The copy was over before it came.
    Late {
        name: String,
        #[serde(flatten)]
        end: NodeEnd,
    },
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Joined(node) => &node.name,
            Self::Late { name, .. } => name,
        }
    }

    fn end(&self) -> &NodeEnd {
        match self {
            Self::Joined(node) => &node.end,
            Self::Late { end, .. } => end,
        }
    }
}

/// The result object `garland.join/2`.
#[derive(Debug, Serialize)]
struct Joined {
    #[serde(flatten)]
    head: Head,
    /// The copy's run.
    joined: String,
    /// How the copy ended for the nodes that joined: of its result, what is theirs.
    nodes: Vec<Entry>,
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
    let copy = Run::find(&places, run, JOIN_DIR, "a copy that nodes can join")?;
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
        nodes: theirs(&copy, names)?,
        joined: copy.name().to_owned(),
        head: Head::new("garland.join/2", Some(&own), phases),
    };
    own.keep("result.json", &joined)?;
    if context.json {
        print_json(&joined)?;
    } else {
        let verdicts = joined.nodes.iter().map(|node| node.end().of(node.name()));
        output::print(folded(verdicts))?;
    }
    let all_ok = joined.nodes.iter().all(|node| node.end().is_ok());
    Ok(if all_ok { Exit::Done } else { Exit::SomeFailed })
}

/// What the result of the copy says of the nodes `names`.
fn theirs(copy: &Run, names: Vec<String>) -> Result<Vec<Entry>, Failure> {
    let mut result: CopyResult = KeptResult::of(copy)?.parse()?;
    let entry = |name: String| match result.nodes.iter().position(|node| node.name == name) {
        Some(at) => Entry::Joined(Box::new(result.nodes.swap_remove(at))),
        None => {
            let reason = "the copy was over before it came".to_owned();
            Entry::Late { name, end: NodeEnd::new(NodeVerdict::Failed, Some(reason)) }
        }
    };
    Ok(names.into_iter().map(entry).collect())
}

fn over(copy: &Run) -> Failure {
    Failure::usage(format!("the copy of {} is over: nobody can join it any more", copy.name()))
        .hint("a new copy sends what they lack: garland cp SOURCE NODES:PATH")
}
