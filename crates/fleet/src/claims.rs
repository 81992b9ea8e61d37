//! Which agents belong to which nodes. The line by which an agent says that it is ready comes from
//! a node that may lie: a key, or an address with a port, that another node has is refused.
//! Otherwise this machine would take one node for another one. Who was first with an address has
//! not shown that it has it: of two that claim it, the one whose agent answers there with its key
//! keeps it.

use std::net::SocketAddr;

use garland_protocol::wire::PublicKey;
use garland_sys::sync::Mutex;

use crate::standing::Standing;

/// The agents of the nodes of a command, and those of records.
#[derive(Default)]
pub struct Claims(Mutex<Known>);

#[derive(Default)]
struct Known {
    claims: Vec<Claim>,
    has_records: bool,
}

/// What a node has said of its agent.
struct Claim {
    node: String,
    key: PublicKey,
    sockets: Vec<SocketAddr>,
    /// Those of them at which the agent has proved its key, or that have a record from an earlier
    /// command.
    proved: Vec<SocketAddr>,
    /// Whether the agent has such a record, or has proved its key. A later claim casts no doubt on
    /// it then.
    is_known: bool,
    /// The node that claimed the same key later.
    rival: Option<String>,
}

/// What two nodes say of their agents, which can be true of one of them only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other node.
    pub other: String,
    /// The address that both have; `None` if they have the same key.
    pub address: Option<SocketAddr>,
}

impl Claims {
    /// Adds the agents of records, once. `read` reads them.
    pub fn know_all(&self, read: impl FnOnce() -> Vec<Standing>) {
        let mut known = self.0.lock();
        if known.has_records {
            return;
        }
        known.has_records = true;
        for standing in read() {
            if known.claims.iter().all(|claim| claim.node != standing.name) {
                known.claims.push(Claim::new(&standing, true));
            }
        }
    }

    /// Adds an agent that has proved its key to this command, in place of what is known of its
    /// node.
    pub fn know(&self, standing: &Standing) {
        let mut known = self.0.lock();
        known.claims.retain(|claim| claim.node != standing.name);
        known.claims.push(Claim::new(standing, true));
    }

    /// Adds an agent as its node describes it, in place of what is known of this node. Another one
    /// that has only claimed the same address may not have it: see [`prove`](Self::prove).
    ///
    /// # Errors
    /// When another node has this key or address. If it has just claimed this key, neither is to be
    /// believed: see [`rival`](Self::rival).
    pub fn claim(&self, standing: &Standing) -> Result<(), Conflict> {
        let mut known = self.0.lock();
        known.claims.retain(|claim| claim.node != standing.name);
        let sockets = standing.sockets();
        for claim in &mut known.claims {
            if claim.key == standing.key {
                if !claim.is_known {
                    claim.rival = Some(standing.name.clone());
                }
                return Err(Conflict { other: claim.node.clone(), address: None });
            }
            let address = claim.proved.iter().find(|address| sockets.contains(address)).copied();
            if address.is_some() {
                return Err(Conflict { other: claim.node.clone(), address });
            }
        }
        known.claims.push(Claim::new(standing, false));
        Ok(())
    }

    /// Notes that the agent of a node has proved its key at `address`, one of those that the node
    /// has claimed.
    pub fn prove(&self, node: &str, address: SocketAddr) {
        let mut known = self.0.lock();
        let own = known.claims.iter_mut().find(|claim| claim.node == node);
        own.into_iter().for_each(|claim| {
            claim.is_known = true;
            claim.proved.push(address);
        });
    }

    /// Returns whether another node claims an address of this node's agent, too.
    pub fn is_contested(&self, node: &str) -> bool {
        let known = self.0.lock();
        let Some(own) = known.claims.iter().find(|claim| claim.node == node) else { return false };
        let has_it = |claim: &Claim| claim.sockets.iter().any(|at| own.sockets.contains(at));
        known.claims.iter().any(|claim| claim.node != node && has_it(claim))
    }

    /// Removes what is known of a node whose agent has ended, or cannot be reached.
    pub fn withdraw(&self, node: &str) {
        self.0.lock().claims.retain(|claim| claim.node != node);
    }

    /// Returns what speaks against the agent of a node by now: another node that claimed its key,
    /// or one whose agent answers at its address.
    pub fn rival(&self, node: &str) -> Option<Conflict> {
        let known = self.0.lock();
        let own = known.claims.iter().find(|claim| claim.node == node)?;
        if let Some(other) = own.rival.clone() {
            return Some(Conflict { other, address: None });
        }
        let others = known.claims.iter().filter(|claim| claim.node != own.node);
        let mut proofs = others.flat_map(|claim| claim.proved.iter().map(|at| (&claim.node, *at)));
        let (other, address) = proofs.find(|(_, address)| own.sockets.contains(address))?;
        Some(Conflict { other: other.clone(), address: Some(address) })
    }
}

impl Claim {
    fn new(standing: &Standing, is_known: bool) -> Self {
        Self {
            node: standing.name.clone(),
            key: standing.key,
            proved: if is_known { standing.sockets() } else { Vec::new() },
            sockets: standing.sockets(),
            is_known,
            rival: None,
        }
    }
}

impl Conflict {
    /// Returns why the agent is not used.
    pub fn reason(&self) -> String {
        let Self { other, address } = self;
        let what = match address {
            None => "the key".to_owned(),
            Some(address) => format!("the address {address}"),
        };
        format!(
            "its agent says that it has {what} of the agent of {other}, so it is not used; if both \
             are one machine: garland down '{other}'; otherwise check both nodes"
        )
    }
}

#[cfg(test)]
mod tests {
    use garland_protocol::names::ClusterAgent;

    use super::*;

    fn agent(name: &str, key: u8, address: &str) -> Standing {
        let address: SocketAddr = address.parse().expect("an address");
        Standing::of_cluster(ClusterAgent {
            name: name.to_owned(),
            addresses: vec![address.ip()],
            port: address.port(),
            key: [key; 32],
            member: None,
            rack: None,
        })
    }

    #[test]
    fn a_key_or_an_address_of_another_node_is_refused() {
        let claims = Claims::default();
        claims.know_all(|| vec![agent("n1", 1, "10.0.0.1:4100")]);
        claims.know_all(|| panic!("they are read once"));
        let conflict = |address: Option<&str>| {
            let address = address.map(|text| text.parse().expect("an address"));
            Err(Conflict { other: "n1".to_owned(), address })
        };
        assert_eq!(claims.claim(&agent("n3", 1, "10.0.0.3:4100")), conflict(None));
        let same = claims.claim(&agent("n3", 3, "10.0.0.1:4100"));
        assert_eq!(same, conflict(Some("10.0.0.1:4100")));
        // Another port is another agent, as on one machine with two names.
        assert_eq!(claims.claim(&agent("n3", 3, "10.0.0.1:4101")), Ok(()));
        // A node's own agent takes the place of the one before it.
        assert_eq!(claims.claim(&agent("n1", 1, "10.0.0.1:4100")), Ok(()));
        claims.withdraw("n1");
        assert_eq!(claims.claim(&agent("n4", 4, "10.0.0.1:4100")), Ok(()));
    }

    #[test]
    fn whoever_was_first_with_a_key_is_not_believed_either() {
        let claims = Claims::default();
        assert_eq!(claims.claim(&agent("n3", 1, "10.0.0.3:4100")), Ok(()));
        assert_eq!(claims.rival("n3"), None);
        assert!(claims.claim(&agent("n1", 1, "10.0.0.1:4100")).is_err());
        let rival = Some(Conflict { other: "n1".to_owned(), address: None });
        assert_eq!(claims.rival("n3"), rival);
        // One that is known is not doubted, or each node could have others ended.
        claims.know(&agent("n2", 2, "10.0.0.2:4100"));
        assert!(claims.claim(&agent("n3", 2, "10.0.0.3:4100")).is_err());
        assert_eq!(claims.rival("n2"), None);
    }

    #[test]
    fn whoever_was_first_with_an_address_does_not_keep_it_from_who_has_it() {
        let claims = Claims::default();
        // n1 says that it has the address of n2, before n2 has said anything.
        assert_eq!(claims.claim(&agent("n1", 1, "10.0.0.2:4100")), Ok(()));
        assert_eq!(claims.claim(&agent("n2", 2, "10.0.0.2:4100")), Ok(()));
        assert_eq!((claims.rival("n1"), claims.rival("n2")), (None, None));
        assert!(claims.is_contested("n1") && claims.is_contested("n2"));
        let address: SocketAddr = "10.0.0.2:4100".parse().expect("an address");
        claims.prove("n2", address);
        let conflict = Conflict { other: "n2".to_owned(), address: Some(address) };
        // Also if it was reached by a login, which says nothing about addresses.
        assert_eq!(claims.rival("n1"), Some(conflict.clone()));
        assert_eq!(claims.rival("n2"), None);
        claims.withdraw("n1");
        assert_eq!(claims.claim(&agent("n3", 3, "10.0.0.2:4100")), Err(conflict));
    }
}
