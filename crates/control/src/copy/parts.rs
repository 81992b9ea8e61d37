//! Digests and manifests of the nodes' parts of a copy, and the commit of the file on this machine.

use std::sync::Arc;

use garland_core::plan::NodeId;
use garland_protocol::{FromAgent, HeadEvent, ReadBack, ToAgent};
use garland_sys::{clock, threads};

use super::{Driver, Ends};
use garland_dataplane::context::CopyConfig;
use garland_dataplane::read_back::read_back;
use garland_sys::error::reason;

impl Driver<'_> {
    /// Handles the end of reading the source, whose digest is `root`. Returns the event for the
    /// state machine with the digests that the nodes' files must have; for stripes, also sends the
    /// manifests.
    pub(super) fn read(&mut self, root: [u8; 32]) -> HeadEvent {
        let Ends::Out { source, manifest, .. } = &self.job.ends else {
            return HeadEvent::SourceRead(root);
        };
        if !source.is_unchanged() {
            return HeadEvent::SourceFailed("the source changed while it was copied".to_owned());
        }
        let Some(manifest) = manifest else { return HeadEvent::SourceRead(root) };
        let roots = self.roots_of_parts(root);
        let mut manifest = manifest.clone();
        for (server, root) in manifest.servers.iter_mut().zip(&roots) {
            server.digest = *root;
        }
        for id in self.agents.ids() {
            manifest.number = u16::try_from(id.index() - 1).unwrap_or(u16::MAX);
            let text = manifest.to_string().into_bytes();
            self.agents.send(id, &ToAgent::Attach(self.copy, text));
        }
        HeadEvent::PartsKnown(roots)
    }

    /// Checks a complete gather, whose digest is `root`: fails nodes whose part differs from the
    /// digest in the manifest, and passes the digests of all parts to the state machine.
    pub(super) fn check_received(&mut self, root: [u8; 32]) {
        let now = clock::now_ns();
        let roots = self.roots_of_parts(root);
        if let Ends::In { digests, .. } = &self.job.ends {
            let ids = self.agents.ids().collect::<Vec<_>>();
            let other = ids.into_iter().zip(roots.iter().zip(digests));
            for (id, _) in other.filter(|(_, (root, digest))| root != digest) {
                let reason = "its stripe has changed: its digest differs from the manifest's";
                let failed = FromAgent::Failed(self.copy, reason.to_owned());
                self.head.handle(now, HeadEvent::From(id, failed));
            }
        }
        self.head.handle(now, HeadEvent::PartsKnown(roots));
    }

    /// Returns the digest of each node's part, in the order of the plan; `root` is the digest of the whole
    /// file.
    pub(super) fn roots_of_parts(&self, root: [u8; 32]) -> Vec<[u8; 32]> {
        let plan = self.job.plan;
        if self.job.stripes.is_none() {
            return vec![root; plan.nodes.len() - 1];
        }
        let sink = self.context.sink();
        plan.lanes.iter().map(|lane| sink.root_of(lane.blocks).unwrap_or_default()).collect()
    }

    /// Returns what nodes do with their files before they rename them; nothing if they are sources.
    pub(super) fn read_back_of_nodes(&self) -> ReadBack {
        match self.job.ends {
            Ends::Out { .. } => self.job.read_back,
            Ends::In { .. } => ReadBack::default(),
        }
    }

    /// Returns whether a node has delivered everything.
    pub(super) fn has_delivered(&self, id: NodeId) -> bool {
        self.delivered.iter().any(|(delivered, _)| *delivered == id)
    }

    /// Notes that a node has delivered everything. After the last one, commits the file on this machine in
    /// a thread, so that a slow disk does not delay the nodes' messages.
    pub(super) fn note_delivered(&mut self, id: NodeId, message: FromAgent) {
        if self.has_delivered(id) {
            return;
        }
        self.delivered.push((id, message));
        if self.delivered.len() + 1 < self.job.plan.nodes.len() {
            return;
        }
        let (context, wake) = (Arc::clone(&self.context), Arc::clone(&self.wake));
        let (tell, wanted) = (self.stored.0.clone(), self.job.read_back);
        let thread = threads::spawn("commit", move || {
            let stored = read_back(&context, wanted)
                .and_then(|()| {
                    let CopyConfig { store, trace, .. } = &context.config;
                    store.commit(trace)
                })
                .map_err(|error| error.to_string());
            // Fails if the copy is over.
            let _ = tell.send(stored);
            wake.raise();
        });
        match thread {
            Ok(thread) => self.threads.push(thread),
            Err(error) => {
                // Fails if the copy is over.
                let _ = self.stored.0.send(Err(reason(&error)));
                self.wake.raise();
            }
        }
    }

    /// Passes the nodes' commits to the state machine once the file on this machine is committed.
    /// Until then, prevents these nodes from being considered silent.
    pub(super) fn settle_delivered(&mut self) {
        let now = clock::now_ns();
        match self.stored.1.try_recv() {
            Ok(Ok(())) => {
                for (id, message) in std::mem::take(&mut self.delivered) {
                    self.head.handle(now, HeadEvent::From(id, message));
                }
            }
            Ok(Err(reason)) => {
                self.delivered.clear();
                let reason = format!("on this machine: {reason}");
                self.head.handle(now, HeadEvent::SourceFailed(reason));
            }
            Err(_) => {
                for (id, _) in &self.delivered {
                    self.head.handle(now, HeadEvent::From(*id, FromAgent::Heartbeat(None)));
                }
            }
        }
    }
}
