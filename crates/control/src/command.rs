//! The head's side of running a command on every node.

use std::cell::RefCell;

use garland_protocol::operation::Query;
use garland_protocol::{FromAgent, ToAgent};
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::session::Session;

/// How a command ended on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// The command exited with this code; if negative, it is the negated number of the signal that
    /// killed the command.
    Exited(i32),
    /// The command could not be run, or its end is unknown.
    Failed(String),
    /// The user interrupted before the command ended.
    Interrupted,
}

/// An event of a command on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandNews<'a> {
    /// Output: whether it is from standard error, and the bytes.
    Output(bool, &'a [u8]),
    /// The end of the command, or of its node; nothing follows.
    Ended,
}

/// Runs `command` on all `agents`. Calls `news` with the index of a node, and an event there. Returns
/// how the command ended on each node, in the order of `agents`.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn run_command(
    agents: Vec<Result<Agent, String>>,
    command: &[Vec<u8>],
    interrupts: Option<&Interrupts>,
    news: &mut dyn FnMut(usize, CommandNews<'_>),
) -> std::io::Result<Vec<CommandEnd>> {
    let news = RefCell::new(news);
    let mut open = Vec::from_iter(0..agents.len());
    let orders = (0..agents.len()).map(|node| (node, ToAgent::Exec(command.to_vec())));
    let query = Query::new(orders, None, |node, message| match message {
        FromAgent::Output(is_error, bytes) => {
            news.borrow_mut()(node, CommandNews::Output(is_error, &bytes));
            None
        }
        FromAgent::Exited(code) => Some(Ok(code)),
        FromAgent::ExecFailed(reason) => Some(Err(reason)),
        _ => None,
    });
    let mut ended = |query: &mut Query<'_, i32>| {
        for node in open.extract_if(.., |node| query.has_answered(*node)) {
            news.borrow_mut()(node, CommandNews::Ended);
        }
    };
    let mut query = Session::new(agents, interrupts).run(query, &mut ended)?;
    ended(&mut query);
    let ends = query.into_answers();
    let end = |end| match end {
        Some(Ok(code)) => CommandEnd::Exited(code),
        Some(Err(reason)) => CommandEnd::Failed(reason),
        None => CommandEnd::Interrupted,
    };
    Ok(ends.into_values().map(end).collect())
}
