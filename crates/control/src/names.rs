//! Names for content: asks agents for the names that they keep, and for what their nodes have.

use std::io;
use std::time::Duration;

use garland_protocol::names::{NamesOrder, RecordKey};
use garland_protocol::operation::{self, NamesAnswer};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::names_patience::NamesPatience;
use crate::session::Session;

/// An order about names, and what belongs to it.
#[derive(Clone, Copy)]
pub struct NamesQuestion<'a> {
    /// The order.
    pub order: &'a NamesOrder,
    /// What is sent before it in pieces: a manifest or a list of members; empty for most orders.
    pub pieces: &'a [u8],
    /// The key that has signed the records which count; without it, none do.
    pub records: Option<&'a RecordKey>,
}

/// An agent that is asked about names.
pub struct AskedAgent {
    /// The name of its node.
    pub node: String,
    /// Its channel, or the error of its node.
    pub agent: Result<Agent, String>,
}

/// What became of an order about names.
pub struct NamesReply {
    /// The agent; or why it is asked nothing more.
    pub agent: Result<Agent, String>,
    /// Its answer, or its error.
    pub answer: Result<NamesAnswer, String>,
    /// Whether this is the first order after which the agent is asked nothing more.
    pub is_newly_left_out: bool,
}

/// How an agent was heard.
struct Heard {
    /// How long its answer or error took.
    took: Duration,
    /// Whether its channel is closed, or it was silent at the end.
    is_gone: bool,
    /// Whether its time was over before it answered.
    is_late: bool,
}

impl<'a> NamesQuestion<'a> {
    /// Creates the question of an order that asks for no records.
    #[must_use]
    pub fn new(order: &'a NamesOrder) -> Self {
        Self { order, pieces: &[], records: None }
    }
}

/// Asks agents, and waits for each as long as `patience` with it lasts. Returns what became of
/// each, in order. One that is late once is not waited for again, nor is one that takes its time
/// with each answer.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn ask_names(
    asked: Vec<AskedAgent>,
    question: NamesQuestion<'_>,
    patience: &NamesPatience,
    interrupts: Option<&Interrupts>,
) -> io::Result<Vec<NamesReply>> {
    let mut nodes = Vec::new();
    let mut limits = Vec::new();
    let mut agents = Vec::new();
    let mut was_open = Vec::new();
    for AskedAgent { node, agent } in asked {
        let left = patience.left(&node);
        limits.push(left.clone().unwrap_or(Duration::ZERO));
        agents.push(left.and(agent));
        was_open.push(agents.last().is_some_and(Result::is_ok));
        nodes.push(node);
    }
    let NamesQuestion { order, pieces, records } = question;
    let count = nodes.len();
    let query = operation::names(&limits, order, pieces, records);
    let mut session = Session::new(agents, interrupts);
    let began_ns = clock::now_ns();
    let mut took: Vec<Option<Duration>> = vec![None; count];
    let query = session.run(query, &mut |query| {
        for (node, took) in took.iter_mut().enumerate() {
            if took.is_none() && query.has_answered(node) {
                *took = Some(Duration::from_nanos(clock::now_ns() - began_ns));
            }
        }
    })?;
    let whole = Duration::from_nanos(clock::now_ns() - began_ns);
    let is_over = session.interrupted();
    let is_gone: Vec<bool> = (0..count).map(|node| session.is_gone(node)).collect();
    let is_late: Vec<bool> = (0..count).map(|node| query.was_late(node)).collect();
    let answers = query.into_answers().into_values();
    let answers = answers.map(|it| it.unwrap_or_else(|| Err("interrupted".to_owned())));
    let mut replies = Vec::new();
    for (at, (agent, answer)) in session.into_agents().zip(answers).enumerate() {
        let took = took[at].unwrap_or(whole);
        let heard = Heard { took, is_gone: is_gone[at], is_late: is_late[at] };
        let left_out = match is_over {
            true => agent.as_ref().err().cloned(),
            false => why_left_out(&nodes[at], question, &agent, &answer, &heard, patience),
        };
        let is_newly_left_out = match &left_out {
            Some(reason) if was_open[at] && !is_over => patience.leave_out(&nodes[at], reason),
            _ => false,
        };
        let agent = left_out.map_or(agent, Err);
        replies.push(NamesReply { agent, answer, is_newly_left_out });
    }
    Ok(replies)
}

/// Returns why an agent is asked nothing more after this answer; `None` if it is.
fn why_left_out(
    node: &str,
    question: NamesQuestion<'_>,
    agent: &Result<Agent, String>,
    answer: &Result<NamesAnswer, String>,
    heard: &Heard,
    patience: &NamesPatience,
) -> Option<String> {
    let received = answer.as_ref().map_or(0, |answer| answer.manifest.len());
    // To read files may take any time.
    let spent = match question.order {
        NamesOrder::Digest(_) => None,
        _ => patience.charge(node, heard.took, question.pieces.len() + received),
    };
    match (agent, answer) {
        (Err(reason), _) => Some(reason.clone()),
        (Ok(_), Err(reason)) if heard.is_gone || heard.is_late => Some(reason.clone()),
        (Ok(_), _) => spent,
    }
}
