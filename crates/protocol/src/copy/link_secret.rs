//! The secret of each link of a copy, which only the head and the two ends of the link know. All
//! members of a copy know the copy's own secret: by that alone any of them could be first at the
//! link of another one.

use crate::copy::copy_id::CopyId;
use crate::copy::route::{LinkSecret, Route};
use crate::wire::Secret;

/// The secret from which the head of a copy derives those of the links. It never leaves the head.
#[derive(Debug)]
pub struct LinkMaster(Secret);

impl LinkMaster {
    /// Creates the master of the links of a copy from random bytes.
    #[must_use]
    pub fn new(random: Secret) -> Self {
        Self(random)
    }

    /// Returns a node's route in a lane of `copy` with the secrets of its links.
    #[must_use]
    pub fn complete(&self, copy: CopyId, route: Route) -> Route {
        let epochs = route.epoch_up().into_iter().chain(route.epochs_down());
        let secrets = epochs
            .map(|epoch| LinkSecret { epoch, secret: self.secret(copy, route.lane, epoch) })
            .collect();
        Route { secrets, ..route }
    }

    fn secret(&self, copy: CopyId, lane: u16, epoch: u32) -> Secret {
        let link = name(copy, lane, epoch);
        Secret(*blake3::keyed_hash(&self.0.0, &link).as_bytes())
    }
}

/// Returns the identity under which a link is opened: it stands for the copy, the lane and the
/// epoch.
#[must_use]
pub fn link_id(copy: CopyId, lane: u16, epoch: u32) -> CopyId {
    let mut id = [0; 16];
    let digest = blake3::hash(&name(copy, lane, epoch));
    id.copy_from_slice(&digest.as_bytes()[..16]);
    CopyId(id)
}

/// Returns the bytes that stand for a link: those of different links differ.
fn name(copy: CopyId, lane: u16, epoch: u32) -> Vec<u8> {
    [&b"garland/1 link"[..], &copy.0, &lane.to_le_bytes(), &epoch.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use garland_core::plan::NodeId;

    use super::*;

    #[test]
    fn each_link_has_a_secret_of_its_own_and_both_its_ends_have_the_same() {
        let master = LinkMaster::new(Secret([3; 32]));
        let route = |copy, lane, epoch| {
            let upstream = Some((NodeId(1), epoch, None));
            let route = Route { lane, upstream, ..Route::default() };
            master.complete(CopyId([copy; 16]), route)
        };
        let mut secrets = HashSet::new();
        let mut ids = HashSet::new();
        for copy in [1, 2] {
            for lane in [0, 1, 256] {
                for epoch in [1, 2, 256, 1 << 16] {
                    let secret = route(copy, lane, epoch).secret(epoch).expect("it has one").0;
                    secrets.insert(secret);
                    ids.insert(link_id(CopyId([copy; 16]), lane, epoch));
                    assert_eq!(secret, route(copy, lane, epoch).secrets[0].secret.0);
                }
            }
        }
        assert_eq!([secrets.len(), ids.len()], [2 * 3 * 4; 2]);
        assert_eq!(route(1, 0, 1).secret(2), None, "it knows no other link's");
    }
}
