//! `garland cp --join`: adds nodes to a running copy.

use garland_core::printable;
use garland_fleet::context::Context;
use garland_fleet::join_listener::{self, Answer, JOIN_DIR};
use garland_results::copy::{CopyResult, NodeResult};
use garland_results::head::{Head, NodeEnd, NodeVerdict, Phases, print_json};
use garland_results::kept::KeptResult;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use garland_terminal::verdicts::folded;
use serde::Serialize;

use super::Cp;

/// The result of a node that joined the copy or tried to join it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Entry {
    /// The node took part in the copy.
    Joined(Box<NodeResult>),
    /// The copy ended before the node joined.
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
    /// The name of the copy's run.
    joined: String,
    /// The entries of the copy's result for the nodes that joined.
    nodes: Vec<Entry>,
}

/// Adds the nodes of `cp.destination()` to the copy of `run`, and waits for the end of the copy.
pub fn run(context: &Context, cp: &Cp, run: &str) -> Result<Exit, Failure> {
    if !cp.sources().is_empty() {
        return Err(Failure::usage("--join takes one node list and no SOURCE")
            .hint("to specify several lists, separate them by commas: 'n1,n[5-6]'"));
    }
    let list =
        cp.destination().to_str().ok_or_else(|| Failure::usage("a node list must be UTF-8"))?;
    let mut phases = Phases::begin();
    let interrupts = Interrupts::catch().or_nothing("cannot catch Ctrl-C")?;
    let places = Places::open()?;
    let copy = Run::find_own(&places, run, JOIN_DIR, "a copy that nodes can join")?;
    if !join_listener::is_open(&copy) {
        return Err(over(&copy));
    }
    let names = match join_listener::ask(&copy, list, &interrupts)? {
        Some(Answer::Joining(names)) => names,
        Some(Answer::Refused(reason)) => return Err(Failure::usage(reason)),
        None if interrupts.have_come() => return Err(Failure::interrupted("joining")),
        None => return Err(over(&copy)),
    };
    if !cp.run.quiet && !context.json {
        garland_terminal::errln!("{list} joins {}", copy.name());
    }
    phases.end("answer");
    join_listener::await_end(&copy, &interrupts)?;
    if interrupts.have_come() {
        // The copy was started by another command and continues.
        let waiting = format!("waiting for the end of copy {}", copy.name());
        let nodes = printable::word(list);
        return Err(Failure::interrupted(waiting)
            .hint(format!("the copy itself continues: `garland top {nodes}` shows it")));
    }
    phases.end("copy");
    let own = Run::begin(&places, "join")?;
    let joined = Joined {
        nodes: theirs(&copy, names)?,
        joined: copy.name().to_owned(),
        head: Head::new("garland.join/2", Some(&own), phases),
    };
    own.keep("result.json", &joined)?;
    let verdicts = joined.nodes.iter().map(|node| node.end().of(node.name()));
    let told = if context.json { print_json(&joined) } else { output::print(folded(verdicts)) };
    let all_ok = joined.nodes.iter().all(|node| node.end().is_ok());
    let exit = if all_ok { Exit::Done } else { Exit::SomeFailed };
    told.map_err(|failure| failure.after(exit))?;
    Ok(exit)
}

/// Returns the entries of the copy's result for the nodes `names`.
fn theirs(copy: &Run, names: Vec<String>) -> Result<Vec<Entry>, Failure> {
    let mut result: CopyResult = KeptResult::read(copy)?.parse()?;
    let entry = |name: String| match result.nodes.iter().position(|node| node.name == name) {
        Some(at) => Entry::Joined(Box::new(result.nodes.swap_remove(at))),
        None => {
            let reason = "the copy ended before the node joined".to_owned();
            Entry::Late { name, end: NodeEnd::new(NodeVerdict::Failed, Some(reason)) }
        }
    };
    Ok(names.into_iter().map(entry).collect())
}

fn over(copy: &Run) -> Failure {
    Failure::usage(format!("cannot join {}: the copy has ended", copy.name()))
        .hint("start a new copy, which sends only the missing blocks: garland cp SOURCE NODES:PATH")
}
