//! What each node has, must have, or has delivered: digests, manifests, and the file on this
//! machine.

use std::sync::Arc;

use garland_core::plan::NodeId;
use garland_protocol::{FromAgent, HeadEvent, ReadBack, ToAgent};
use garland_sys::{clock, threads};

use super::{Driver, Ends};
use garland_dataplane::read_back::read_back;
use garland_sys::error::reason;

impl Driver<'_> {
    /// The whole source has been read and has this digest: sets what every node must hold, for
    /// stripes what each must hold, and the manifests.
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

    /// Everything is present: checks it against what was written, and what the nodes reported.
    pub(super) fn take_stock(&mut self, root: [u8; 32]) {
        let now = clock::now_ns();
        let roots = self.roots_of_parts(root);
        if let Ends::In { digests, .. } = &self.job.ends {
            let ids = self.agents.ids().collect::<Vec<_>>();
            let other = ids.into_iter().zip(roots.iter().zip(digests));
            for (id, _) in other.filter(|(_, (root, digest))| root != digest) {
                let reason = "its stripe is not what was written there: the manifest has another \
                              digest";
                let failed = FromAgent::Failed(self.copy, reason.to_owned());
                self.head.handle(now, HeadEvent::From(id, failed));
            }
        }
        self.head.handle(now, HeadEvent::PartsKnown(roots));
    }

    /// The digest of what each node has or must have, in the order of the plan; `root` is that of
    /// everything.
    pub(super) fn roots_of_parts(&self, root: [u8; 32]) -> Vec<[u8; 32]> {
        let plan = self.job.plan;
        if self.job.stripes.is_none() {
            return vec![root; plan.nodes.len() - 1];
        }
        let sink = self.member.sink();
        plan.lanes.iter().map(|lane| sink.root_of(lane.blocks).unwrap_or_default()).collect()
    }

    /// What nodes do with their files before they rename them; nothing if they are sources.
    pub(super) fn read_back_of_nodes(&self) -> ReadBack {
        match self.job.ends {
            Ends::Out { .. } => self.job.read_back,
            Ends::In { .. } => ReadBack::default(),
        }
    }

    pub(super) fn has_given(&self, id: NodeId) -> bool {
        self.given.iter().any(|(given, _)| *given == id)
    }

    /// A node has delivered everything. When all have, the file here is renamed, in a thread of its
    /// own: a slow disk must not delay the nodes' messages.
    pub(super) fn note_given(&mut self, id: NodeId, message: FromAgent) {
        if self.has_given(id) {
            return;
        }
        self.given.push((id, message));
        if self.given.len() + 1 < self.job.plan.nodes.len() {
            return;
        }
        let (member, wake) = (Arc::clone(&self.member), Arc::clone(&self.wake));
        let (tell, wanted) = (self.stored.0.clone(), self.job.read_back);
        let thread = threads::spawn("commit", move || {
            let stored = read_back(&member, wanted).and_then(|()| {
                member.config.store.commit(&member.config.trace).map_err(|error| error.to_string())
            });
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

    /// Keeps nodes that have delivered everything from being considered silent, until the file here
    /// is renamed.
    pub(super) fn settle_given(&mut self) {
        let now = clock::now_ns();
        match self.stored.1.try_recv() {
            Ok(Ok(())) => {
                for (id, message) in std::mem::take(&mut self.given) {
                    self.head.handle(now, HeadEvent::From(id, message));
                }
            }
            Ok(Err(reason)) => {
                self.given.clear();
                let reason = format!("on this machine: {reason}");
                self.head.handle(now, HeadEvent::SourceFailed(reason));
            }
            Err(_) => {
                for (id, _) in &self.given {
                    self.head.handle(now, HeadEvent::From(*id, FromAgent::Heartbeat(None)));
                }
            }
        }
    }
}
