//! What an agent knows of the members of the cluster: the key of each node.

use std::collections::HashMap;

use garland_protocol::Grant;
use garland_protocol::names::{RecordKey, Roster};
use garland_protocol::wire::{KeyPair, PublicKey};
use garland_sys::sync::Mutex;

/// The members of the cluster, as the controller has told them.
#[derive(Default)]
pub struct KnownMembers(Mutex<State>);

#[derive(Default)]
struct State {
    /// The key pair of this node.
    own: Option<KeyPair>,
    /// The names of the nodes, by their keys; empty if the agent was told none.
    nodes: HashMap<PublicKey, String>,
    /// The key by which the records of names are recognised; `None` likewise.
    records: Option<RecordKey>,
}

impl KnownMembers {
    /// Returns what the owner of `key` may do; `None` if it is no member.
    pub fn grant(&self, key: &PublicKey) -> Option<Grant> {
        let state = self.0.lock();
        let node = state.nodes.get(key)?;
        let is_own = state.own.as_ref().is_some_and(|own| own.public == *key);
        Some(Grant::member(node, is_own))
    }

    /// Returns whether a node is a member.
    pub fn has(&self, node: &str) -> bool {
        self.0.lock().nodes.values().any(|known| known == node)
    }

    /// Returns the key by which the records of names are recognised; `None` if the agent was told
    /// none.
    pub fn records(&self) -> Option<RecordKey> {
        self.0.lock().records
    }

    /// Returns the key pair of this node; makes one if there is none, or another one if `fresh`.
    pub fn own_key(&self, fresh: bool) -> KeyPair {
        let mut state = self.0.lock();
        if fresh {
            state.own = None;
        }
        state.own.get_or_insert_with(KeyPair::generate).clone()
    }

    /// Returns the key pair of this node; `None` if it has none.
    pub fn own(&self) -> Option<KeyPair> {
        self.0.lock().own.clone()
    }

    /// Replaces the members by those of a list.
    pub fn replace(&self, roster: &Roster) {
        let nodes = roster.agents.iter();
        let nodes = nodes.filter_map(|agent| Some((agent.member?, agent.name.clone()))).collect();
        let mut state = self.0.lock();
        state.nodes = nodes;
        state.records = Some(roster.records);
    }
}
