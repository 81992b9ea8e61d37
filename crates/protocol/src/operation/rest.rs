//! Keeps the channels of agents between two operations.

use std::collections::BTreeMap;

use super::interface::{AgentEvent, Operation, Orders};

/// Reads what idle agents send, until it is ended or an agent is lost.
#[derive(Debug, Default)]
pub struct Rest {
    is_over: bool,
    lost: BTreeMap<usize, String>,
}

impl Rest {
    /// Ends the rest.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Returns the nodes whose agents were lost, each with the reason.
    #[must_use]
    pub fn into_lost(self) -> BTreeMap<usize, String> {
        self.lost
    }
}

impl Operation for Rest {
    fn handle(&mut self, _: u64, node: usize, event: AgentEvent, _: &mut Orders) {
        if let AgentEvent::Lost(reason) = event {
            self.lost.insert(node, reason);
            self.is_over = true;
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}
