//! The end of a copy towards the head: sources deliver, and the head commits its file.

use garland_core::plan::NodeId;

use super::milestones::Milestone;
use super::{Head, HeadOrder, NodeState};
use crate::copy::report::Report;

impl Head {
    /// Handles the arrival of the whole file: fails nodes whose part differs from the digest in the
    /// manifest, if there is one, and lets the others commit.
    pub(super) fn receive(&mut self, now: u64, roots: &[[u8; 32]], manifest: &[[u8; 32]]) {
        for id in self.receivers() {
            self.nodes[id.index()].held_ns = Some(now);
            self.milestones.reach(now, id, Milestone::Held);
        }
        let parts = self.receivers().zip(roots.iter().zip(manifest));
        for (id, _) in parts.filter(|(_, (root, digest))| root != digest) {
            let reason = "its stripe has changed: its digest differs from the manifest's";
            self.take_out(id, NodeState::Failed(reason.to_owned()));
        }
        self.set_roots(roots);
    }

    /// Notes that a source has delivered everything and confirmed that its file has not changed;
    /// the silence or loss of this source no longer matters. After the last source, orders the head
    /// to commit its file.
    pub(super) fn deliver(&mut self, id: NodeId, report: Box<Report>) {
        if self.has_verdict(id) {
            return;
        }
        self.liveness.forget(id);
        let is_new = self.delivered.insert(id, report).is_none();
        if is_new && self.delivered.len() + 1 == self.planned {
            self.orders.push_back(HeadOrder::Commit);
        }
    }

    /// Handles the result of the head's commit: the sources are done, or fail if the commit failed.
    pub(super) fn stored(&mut self, stored: Result<(), String>) {
        let delivered = std::mem::take(&mut self.delivered);
        match stored {
            Ok(()) => {
                for (id, report) in delivered {
                    if self.may_commit(id.index()) {
                        self.committed(id, report);
                    }
                }
            }
            Err(reason) => self.give_up(&format!("on this machine: {reason}")),
        }
    }
}
