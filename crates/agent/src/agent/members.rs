//! The members of the cluster: nodes that read names and their contents by themselves, each with a
//! key of its own. The controller tells every agent who they are.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use garland_protocol::names::{ClusterKey, Roster};
use garland_protocol::wire::PublicKey;
use garland_protocol::{FromAgent, Role, ToAgent};
use garland_sys::private_file;

use super::Agent;
use super::copies::InProgress;
use super::serving::attend;
use crate::controller::Controller;
use crate::files;
use crate::names::NamesService;
use crate::orders::Event;
use crate::session::Session;

impl Agent {
    /// Keeps the list of members, and the key of this node in a private file, by which commands on
    /// this node become a member. Ends the sessions of those that are members no longer, also if
    /// the file cannot be written: a full disk keeps no key valid.
    ///
    /// # Errors
    /// When the agent has no state directory or no key, is not in the list or in it with another
    /// key, or the file cannot be written.
    pub fn keep_members(&self, roster: Roster) -> io::Result<()> {
        let listed = roster.agent(&self.keys.public);
        let listed = listed.ok_or_else(|| io::Error::other("it is not in the list of members"))?;
        let node = listed.name.clone();
        let own = self.members.own();
        let own = own.ok_or_else(|| io::Error::other("it was not asked for a key"))?;
        // A list from before a change of keys.
        if listed.member.is_some_and(|listed| listed != own.public) {
            return Err(io::Error::other("the list has another key of this node"));
        }
        self.members.replace(&roster);
        self.end_sessions_of_strangers();
        let root = self.config.root.as_deref().unwrap_or(Path::new("/"));
        let key = ClusterKey {
            member: own.private,
            public: own.public,
            node,
            root: root.as_os_str().as_bytes().to_vec(),
            roster,
        };
        let path = self.config.cluster_key.as_ref();
        let path = path.ok_or_else(|| io::Error::other("it has no state directory"))?;
        private_file::replace(path, &key.to_bytes())
    }

    /// Removes the file with the key of this node, if the agent wrote one. An agent that ends
    /// leaves none.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn remove_cluster_key(&self) -> io::Result<()> {
        let (Some(path), Some(own)) = (self.config.cluster_key.as_ref(), self.members.own()) else {
            return Ok(());
        };
        // Another agent of this node may have written its own one meanwhile.
        let kept = private_file::read(path, ClusterKey::FILE_MAX)?;
        let is_own =
            |bytes: Vec<u8>| ClusterKey::parse(&bytes).is_some_and(|key| key.public == own.public);
        match kept.is_some_and(is_own) {
            true => private_file::remove(path),
            false => Ok(()),
        }
    }

    /// Ends the sessions of former members, and of those whose key is that of another node now, and
    /// with them their connections for files.
    fn end_sessions_of_strangers(&self) {
        let is_stranger = |key: &PublicKey, session: &Session| {
            session.grant().role == Role::Member && !self.still_grants(key, session.grant())
        };
        let open = self.open.lock();
        let strangers = open.iter().filter(|((key, _), session)| is_stranger(key, session));
        // All are marked before the first one is told: a peer that does not read holds up one
        // second.
        let condemned: Vec<Arc<Session>> = strangers
            .filter(|(_, session)| session.condemn())
            .map(|(_, session)| Arc::clone(session))
            .collect();
        drop(open);
        for session in condemned {
            session.dismiss("its key is no longer that of a member");
        }
    }

    /// Serves a member, or a node of a farm, until it is gone.
    pub fn serve_node(self: &Arc<Self>, session: &Arc<Session>) {
        let controller = Controller { agent: Arc::clone(self), session: Arc::clone(session) };
        let in_progress: Arc<InProgress> = Arc::default();
        let Some((heart, (_tell, given))) = attend(&controller, in_progress) else { return };
        let age_ns = self.age().as_nanos() as u64;
        session.send(&FromAgent::Welcome { pid: std::process::id(), age_ns, links: 0 });
        let mut names = NamesService::new(&controller);
        let mut mounts = files::Mounts::new(self);
        while let Ok(Event::Order(order)) = given.recv() {
            // The key may have been changed after the order was admitted.
            if !self.still_grants(&session.caller.key, session.grant()) {
                break;
            }
            match order.into_order() {
                ToAgent::Names(order) => names.obey(order),
                ToAgent::Files(order) => mounts.open(session, order),
                // The session or the thread that reads orders has handled all others that the roles
                // of nodes admit.
                _ => {}
            }
        }
        session.close();
        drop(heart);
        drop(names);
        drop(mounts);
    }
}
