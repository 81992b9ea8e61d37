//! Digests and manifests of the nodes' parts of a copy.

use std::sync::Arc;

use garland_core::plan::NodeId;
use garland_protocol::ToAgent;
use garland_protocol::copy::{HeadEvent, ReadBack};

use super::{Driver, Ends};

impl Driver<'_> {
    /// Begins to read the source again if its stamp has changed; the end of that is the same
    /// notice. Returns false if the stamp is known, or if the source was read again already.
    pub(super) fn read_again(&mut self, root: [u8; 32]) -> bool {
        match &self.job.ends {
            Ends::Out { source, .. } if !source.is_unchanged() => {
                let source = Arc::clone(source);
                self.attempt.read_again(source, root)
            }
            Ends::Out { .. } | Ends::In { .. } => false,
        }
    }

    /// Returns the event of the end of reading the source, whose digest is `root`, with the digests
    /// that the nodes' files must have.
    pub(super) fn read(&self, root: [u8; 32]) -> HeadEvent {
        let Ends::Out { source, manifest, .. } = &self.job.ends else {
            return HeadEvent::SourceRead(root);
        };
        if !source.is_unchanged() {
            return HeadEvent::SourceFailed("the source changed while it was copied".to_owned());
        }
        match manifest {
            Some(_) => HeadEvent::PartsKnown(self.roots_of_parts(root)),
            None => HeadEvent::SourceRead(root),
        }
    }

    /// Sends a node the manifest of the stripes.
    pub(super) fn attach(&mut self, id: NodeId) {
        let Ends::Out { manifest: Some(manifest), .. } = &self.job.ends else { return };
        let mut manifest = manifest.clone();
        for (server, root) in manifest.servers.iter_mut().zip(self.head.roots()) {
            server.digest = *root;
        }
        manifest.number = u16::try_from(id.index() - 1).unwrap_or(u16::MAX);
        let text = manifest.to_string().into_bytes();
        self.agents.send(id, &ToAgent::Attach(self.attempt.copy, text));
    }

    /// Returns the event of a complete gather, whose digest is `root`.
    pub(super) fn received(&self, root: [u8; 32]) -> HeadEvent {
        let manifest = match &self.job.ends {
            Ends::In { digests, .. } => digests.clone(),
            Ends::Out { .. } => Vec::new(),
        };
        HeadEvent::Received { roots: self.roots_of_parts(root), manifest }
    }

    /// Returns the digest of each node's part, in the order of the plan; `root` is the digest of
    /// the whole file.
    fn roots_of_parts(&self, root: [u8; 32]) -> Vec<[u8; 32]> {
        let plan = self.job.plan;
        if self.job.stripes.is_none() {
            return vec![root; plan.nodes.len() - 1];
        }
        let sink = self.attempt.context.progress.sink();
        plan.lanes.iter().map(|lane| sink.root_of(lane.blocks).unwrap_or_default()).collect()
    }

    /// Returns what nodes check in their files before they rename them; nothing if the nodes are
    /// sources.
    pub(super) fn read_back_of_nodes(&self) -> ReadBack {
        match self.job.ends {
            Ends::Out { .. } => self.job.read_back,
            Ends::In { .. } => ReadBack::default(),
        }
    }
}
