//! The head's side of a survey: sends an order to each of many agents, and collects their answers.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_dataplane::leaving::after;
use garland_protocol::{FromAgent, SurveyAnswer, SurveyOrder, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agent_set::AgentEvent;
use crate::agents::{Agents, gone};
use crate::copy::Agent;

/// The agents of a survey, by index.
pub struct Survey<'a> {
    agents: Agents,
    interrupts: Option<&'a Interrupts>,
    /// The number of answers, by index of the agent, that the survey no longer waits for and that
    /// may still arrive.
    late: BTreeMap<usize, u32>,
}

impl<'a> Survey<'a> {
    /// Creates a survey with these agents; `None` for nodes that cannot be reached.
    pub fn new(agents: Vec<Option<Agent>>, interrupts: Option<&'a Interrupts>) -> Self {
        Self { agents: Agents::new(agents), interrupts, late: BTreeMap::new() }
    }

    /// Sends orders, at most one per agent, and waits up to `patience` for the answers. Returns the
    /// answer or error of each agent, by index.
    ///
    /// # Errors
    /// When this host cannot wait, or the user interrupts ([`io::ErrorKind::Interrupted`]).
    pub fn ask(
        &mut self,
        orders: Vec<(usize, SurveyOrder)>,
        patience: Duration,
    ) -> io::Result<BTreeMap<usize, Result<SurveyAnswer, String>>> {
        let mut answers = BTreeMap::new();
        let mut waiting = Vec::new();
        for (node, order) in orders {
            if self.agents.has(node) {
                self.agents.send(node, &ToAgent::Survey(order));
                waiting.push(node);
            } else {
                answers.insert(node, Err(gone()));
            }
        }
        let deadline = after(patience);
        while !waiting.is_empty() && clock::now_ns() < deadline {
            let interrupts = self.interrupts.map(AsFd::as_fd);
            for (node, event) in self.agents.wait(interrupts, clock::until(deadline))? {
                if let (AgentEvent::Message(FromAgent::Surveyed(_)), Some(late @ 1..)) =
                    (&event, self.late.get_mut(&node))
                {
                    *late -= 1;
                    continue;
                }
                let answer = match event {
                    AgentEvent::Message(FromAgent::Surveyed(SurveyAnswer::Failed(reason))) => {
                        Err(reason)
                    }
                    AgentEvent::Message(FromAgent::Surveyed(answer)) => Ok(answer),
                    AgentEvent::Message(_) => continue,
                    AgentEvent::Lost(reason) => Err(reason),
                };
                waiting.retain(|waiting| *waiting != node);
                answers.insert(node, answer);
            }
            if self.interrupts.is_some_and(Interrupts::pending) {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        for node in waiting {
            *self.late.entry(node).or_default() += 1;
            let seconds = patience.as_secs();
            answers.insert(node, Err(format!("its agent did not answer within {seconds} s")));
        }
        Ok(answers)
    }
}
