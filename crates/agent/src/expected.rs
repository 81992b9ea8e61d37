//! The connections that an agent's port accepts from other nodes: each belongs to an operation in
//! progress, whose secret the peer must know.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use garland_dataplane::context::CopyContext;
use garland_protocol::copy::{CopyId, LinkSide, Route, link_id};
use garland_protocol::wire::{GreetingRate, Purpose, Secret};
use garland_sys::event::Wake;
use garland_sys::sync::Mutex;
use garland_transport::{GreetingLimit, Identity};

use crate::error::OrderError;
use crate::files::FileListener;
use crate::probe::Invitation;

/// How often the node at the other end of a link may greet for it: a link has one connection, tried
/// again a few times, over parked connections and new ones.
const LINK_GREETINGS: GreetingRate = GreetingRate { per_s: 2, at_once: 16 };

/// How often nodes may greet for a meeting or a standing chain, which has up to 64 connections to
/// this node.
const MEETING_GREETINGS: GreetingRate = GreetingRate { per_s: 64, at_once: 256 };

/// The operation to which a connection belongs.
#[derive(Clone)]
pub enum Expected {
    /// A link of a copy.
    CopyLink(Arc<CopyLink>),
    /// A standing link, for a later copy.
    Link(Secret),
    /// A meeting, in which the other agent connects to this one.
    Guest(Arc<Invitation>),
    /// A mount of this node's files.
    Mount(Arc<FileListener>),
}

/// A link of a copy that the node at its other end opens.
pub struct CopyLink {
    /// The copy.
    pub copy: Arc<CopyContext>,
    /// The number of the link's lane.
    pub lane: u16,
    /// The side of this node that the link is on.
    pub side: LinkSide,
    /// The epoch of the link.
    pub epoch: u32,
    secret: Secret,
}

impl Expected {
    /// Returns the purpose of the operation's connections, and the secret that peers must know.
    pub fn key(&self) -> (Purpose, Secret) {
        let (purpose, secret) = match self {
            Self::CopyLink(link) => (Purpose::Link, &link.secret),
            Self::Link(secret) => (Purpose::Link, secret),
            Self::Guest(invitation) => (Purpose::Probe, &invitation.secret),
            Self::Mount(listener) => (Purpose::Files, &listener.secret),
        };
        (purpose, secret.clone())
    }

    /// Returns how often those may greet who know the secret of this operation, whose identity is
    /// `id`; `None` for as often as they like. Each greeting costs key exchanges.
    pub fn limit(&self, id: CopyId) -> Option<GreetingLimit> {
        let of = Identity::Secret(id);
        match self {
            Self::CopyLink(_) => Some(GreetingLimit { of, rate: LINK_GREETINGS }),
            Self::Link(_) | Self::Guest(_) => Some(GreetingLimit { of, rate: MEETING_GREETINGS }),
            Self::Mount(listener) => listener.limit,
        }
    }
}

/// The operations that expect connections, by the identity that a peer sends.
pub struct Expectations {
    /// By the purpose of the connections, too: whoever orders a mount chooses its identity, and
    /// takes the place of no copy by it.
    expected: Mutex<HashMap<(Purpose, CopyId), Expected>>,
    /// Raised when an operation is added.
    added: Arc<Wake>,
}

/// An operation that expects connections, until this is dropped.
pub struct Expectation {
    all: Arc<Expectations>,
    key: (Purpose, CopyId),
}

impl Expectations {
    /// Creates an empty set, which raises `added` when an operation is added.
    pub fn new(added: Arc<Wake>) -> Arc<Self> {
        Arc::new(Self { expected: Mutex::default(), added })
    }

    /// Returns the operation `id`, if it expects connections for this purpose.
    pub fn get(&self, purpose: Purpose, id: CopyId) -> Option<Expected> {
        self.expected.lock().get(&(purpose, id)).cloned()
    }

    /// Accepts connections for the operation `id` from peers that know its secret.
    ///
    /// # Errors
    /// When there is an operation with this identity. Identities are seen on the network: nobody
    /// may take the place of another one's operation.
    pub fn add(self: &Arc<Self>, id: CopyId, what: Expected) -> Result<Expectation, OrderError> {
        let key = (what.key().0, id);
        match self.expected.lock().entry(key) {
            Entry::Occupied(_) => {
                return Err("protocol error: another operation has this identity".into());
            }
            Entry::Vacant(place) => place.insert(what),
        };
        self.added.raise();
        Ok(Expectation { all: Arc::clone(self), key })
    }
}

impl Drop for Expectation {
    fn drop(&mut self) {
        self.all.expected.lock().remove(&self.key);
    }
}

/// The links of a copy that its other nodes may open.
pub struct ExpectedLinks {
    all: Arc<Expectations>,
    copy: Arc<CopyContext>,
    /// By lane and epoch.
    links: Mutex<HashMap<(u16, u32), Expectation>>,
}

impl ExpectedLinks {
    /// Creates the links of a copy that has no routes yet.
    pub fn new(all: &Arc<Expectations>, copy: &Arc<CopyContext>) -> Self {
        Self { all: Arc::clone(all), copy: Arc::clone(copy), links: Mutex::default() }
    }

    /// Accepts the links of `route`, and no longer those of the lane's earlier route.
    ///
    /// # Errors
    /// When another operation has the identity of a link.
    pub fn accept(&self, route: &Route) -> Result<(), OrderError> {
        let mut links = self.links.lock();
        let lane = route.lane;
        let stays = |epoch: u32| route.links_of_others().any(|(_, other)| other == epoch);
        links.retain(|&(of, epoch), _| of != lane || stays(epoch));
        for (side, epoch) in route.links_of_others() {
            let Some(secret) = route.secret(epoch).cloned() else { continue };
            if let Entry::Vacant(place) = links.entry((lane, epoch)) {
                let copy = Arc::clone(&self.copy);
                let id = link_id(copy.config.id, lane, epoch);
                let link = CopyLink { copy, lane, side, epoch, secret };
                place.insert(self.all.add(id, Expected::CopyLink(Arc::new(link)))?);
            }
        }
        Ok(())
    }

    /// Accepts no more links.
    pub fn clear(&self) {
        self.links.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_the_place_of_an_operation_and_its_end_makes_room() {
        let expected = Expectations::new(Arc::new(Wake::new().unwrap()));
        let [ours, theirs] = [1, 2].map(|byte| Secret([byte; 32]));
        let id = CopyId([7; 16]);
        let first = expected.add(id, Expected::Link(ours.clone())).ok();
        assert!(expected.add(id, Expected::Link(theirs.clone())).is_err());
        let secret = || expected.get(Purpose::Link, id).map(|it| it.key().1.0);
        assert_eq!(secret(), Some(ours.0));
        drop(first);
        assert_eq!(secret(), None);
        assert!(expected.add(id, Expected::Link(theirs)).is_ok());
    }
}
