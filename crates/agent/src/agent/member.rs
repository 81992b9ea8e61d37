//! Members of the cluster: nodes that read names and their contents by themselves, with the key that the
//! controller has given to its agents. A member can read what is described by digests, and change nothing but the
//! list of holders.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use garland_protocol::{ClusterKey, FromAgent, PublicKey, ToAgent};
use garland_sys::clock;

use super::Agent;
use super::copies::InProgress;
use super::serving::attend;
use crate::controller::Controller;
use crate::files;
use crate::names::{NamesService, write};
use crate::session::Session;

impl Agent {
    /// Returns whether a greeting with this key is that of a member.
    pub fn has_member(&self, key: &PublicKey) -> bool {
        self.member.lock().as_ref() == Some(key)
    }

    /// Keeps the key of the cluster in a private file, by which commands on this node become members; `None` removes
    /// it.
    ///
    /// # Errors
    /// When the agent has no state directory, is not in the key, or the file cannot be written or removed.
    pub fn keep_member(&self, key: Option<ClusterKey>) -> io::Result<()> {
        let path =
            self.member_file().ok_or_else(|| io::Error::other("it has no state directory"))?;
        let Some(mut key) = key else {
            *self.member.lock() = None;
            return match fs::remove_file(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            };
        };
        let own = key.agents.iter().find(|agent| agent.key == self.keys.public);
        key.node = own.map(|agent| agent.name.clone()).unwrap_or_default();
        let root = self.config.root.as_deref().unwrap_or(Path::new("/"));
        key.root = root.as_os_str().as_bytes().to_vec();
        write(&path, &key.to_bytes())?;
        *self.member.lock() = Some(key.public);
        Ok(())
    }

    /// Removes the key of the cluster, because this agent ends for good.
    pub fn forget_member(&self) {
        let has_key = self.member.lock().is_some();
        if let Some(path) = self.member_file().filter(|_| has_key) {
            // If this fails, the file is useless once the agents have ended.
            let _ = fs::remove_file(path);
        }
    }

    fn member_file(&self) -> Option<PathBuf> {
        self.config.cluster_key.clone()
    }

    /// Serves a member until it is gone, or asks for something that members may not.
    pub fn serve_member(self: &Arc<Self>, session: &Arc<Session>) {
        let controller = Controller { agent: Arc::clone(self), session: Arc::clone(session) };
        let in_progress: Arc<InProgress> = Arc::default();
        let attended = attend(&controller, Arc::clone(&in_progress));
        let Some((heart, (_tell, given))) = attended else { return };
        self.sessions.fetch_add(1, Ordering::AcqRel);
        let age_ns = clock::now_ns() - self.started_ns;
        session.send(&FromAgent::Welcome { pid: std::process::id(), age_ns, links: 0 });
        let (mut names, mut mounts) =
            (NamesService::new(&controller), files::Mounts::of_member(self));
        while let Ok(crate::orders::Event::Order(order)) = given.recv() {
            match order {
                ToAgent::Ping | ToAgent::Clock(_) | ToAgent::View | ToAgent::Session(_) => {}
                ToAgent::Names(order) if order.is_for_members() => names.obey(order),
                ToAgent::Files(order) => mounts.open(session, order),
                _ => break,
            }
        }
        session.close();
        drop((heart, names, mounts));
        self.end_if(false);
    }
}
