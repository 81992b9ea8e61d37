//! Starts standing agents so that none runs without a record: the record is written before the
//! start, and completed before the agent is used. An agent that nobody uses ends by itself within a
//! minute.

use std::path::PathBuf;

use garland_core::cluster::Node;
use garland_protocol::wire::RetireRequest;

use super::{FleetBuilder, Started, Starter};
use crate::claims::Conflict;
use crate::inventory;
use crate::launch::{LaunchError, Orders};
use crate::standing::{RecordDir, Standing};

impl FleetBuilder<'_> {
    /// Starts a standing agent with `record`, the one of an agent that is about to be started.
    pub(super) fn start_standing(
        &self,
        node: &Node,
        orders: &Orders,
        root: Option<PathBuf>,
        mut record: Standing,
        starter: &Starter<'_>,
    ) -> Started {
        record.begin(starter.records)?;
        let started = self.complete(node, orders, root, &mut record, starter);
        started.map_err(|error| self.take_back(&record, orders, starter, error))
    }

    /// Starts the agent, completes its record, and connects to it.
    fn complete(
        &self,
        node: &Node,
        orders: &Orders,
        root: Option<PathBuf>,
        record: &mut Standing,
        starter: &Starter<'_>,
    ) -> Started {
        let launched = self.start(node, orders, root, starter.launchers)?;
        let ready = record.clone().ready(&launched);
        self.claim(&ready, starter.records)?;
        // From here on it is the agent that is asked to end.
        *record = ready;
        // If this command is interrupted now, the next one must find the agent, behind a firewall,
        // too.
        record.login = starter.launchers.login(node).filter(|_| self.is_real(node));
        record.keep(starter.records)?;
        let may_need_login = record.login.take().is_some();
        let agent = self.connect(node, record, starter)?;
        if may_need_login && record.login.is_none() {
            record.keep(starter.records)?;
        }
        Ok((agent, launched.child))
    }

    /// Ends the agent whose start failed because of `error`, if it runs, and removes its record. If
    /// it may still run, its record stays. Returns the error.
    fn take_back(
        &self,
        record: &Standing,
        orders: &Orders,
        starter: &Starter<'_>,
        error: LaunchError,
    ) -> LaunchError {
        let is_here = self.lab.is_some() || inventory::is_local(&record.name);
        if !orders.trace.is_left() {
            record.forget(starter.records);
            return error;
        }
        // The user waits for nothing after an interrupt; the next command cleans up.
        if error == LaunchError::Cancelled && !is_here {
            return error;
        }
        let has_consented =
            !record.sockets().is_empty() && record.retire(starter.keys, RetireRequest::End).is_ok();
        let ended = if has_consented { Ok(Vec::new()) } else { self.processes().end(record) };
        match ended {
            Ok(_) => {
                record.forget(starter.records);
                error
            }
            Err(why) => LaunchError::Refused(format!(
                "{error}; its agent may run all the same ({why}); to end it: garland down '{}'",
                record.name
            )),
        }
    }

    /// Accepts what a node says of its agent, unless another node has said the same.
    pub(super) fn claim(&self, agent: &Standing, records: &RecordDir) -> Result<(), LaunchError> {
        self.claims.know_all(|| records.readable());
        loop {
            match self.claims.claim(agent) {
                Ok(()) => return Ok(()),
                // The kernel gives a port to another agent when the first one has ended.
                Err(conflict) if self.has_ended(&conflict, records) => {
                    self.claims.withdraw(&conflict.other);
                }
                Err(conflict) => return Err(LaunchError::Refused(conflict.reason())),
            }
        }
    }

    /// Returns whether the other agent, which had the same address, is one of a record and has
    /// ended. Removes its record then.
    fn has_ended(&self, conflict: &Conflict, records: &RecordDir) -> bool {
        let is_address = conflict.address.is_some();
        let other = Standing::find(records, &conflict.other).ok().flatten();
        let Some(other) = other.filter(|_| is_address) else { return false };
        let has_ended = self.processes().find(&other).is_ok_and(|running| running.is_empty());
        if has_ended {
            other.forget(records);
        }
        has_ended
    }

    /// Rejects the agents of nodes that claimed a key first which another node claimed later: one
    /// of the two lies, and it is not known which one. Also rejects those with the address of
    /// another one's agent, which answers there.
    pub(super) fn reject_rivals(
        &self,
        nodes: &[Node],
        results: &mut [Started],
        records: &RecordDir,
    ) {
        for (node, result) in nodes.iter().zip(results) {
            let rival = self.claims.rival(&node.name).filter(|_| result.is_ok());
            let Some(conflict) = rival else { continue };
            let mut error = LaunchError::Refused(conflict.reason());
            // That of a standing agent leads to the one of the other node.
            if let Ok(Some(record)) = Standing::find(records, &node.name) {
                match self.processes().end(&record) {
                    Ok(_) => record.forget(records),
                    Err(why) => {
                        let text = format!("{error}; its agent may run all the same ({why})");
                        error = LaunchError::Refused(text);
                    }
                }
            }
            *result = Err(error);
        }
    }
}
