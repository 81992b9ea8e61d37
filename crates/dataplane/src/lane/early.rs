//! Links that neighbours opened before this node received the route with them.

use garland_protocol::copy::LinkSide;
use garland_sys::socket::TcpStream;

use crate::context::is_at_end;

/// The maximum number of early links of a lane: each costs a descriptor.
const EARLY_LINKS_MAX: usize = 16;

/// A connection of a link that no route has yet.
pub struct EarlyLink {
    /// The side of this node that the link is on.
    pub side: LinkSide,
    /// The epoch of the link.
    pub epoch: u32,
    /// The connection.
    pub stream: TcpStream,
}

/// The early links of a lane: at most one of each side and epoch, and only a few.
#[derive(Default)]
pub struct EarlyLinks(Vec<EarlyLink>);

impl EarlyLinks {
    /// Keeps a link. Closes it instead if there is one of the same side and epoch that its
    /// neighbour has not closed, or if there is no room: its neighbour tells the head.
    pub fn keep(&mut self, link: EarlyLink) {
        let is_same = |old: &EarlyLink| (old.side, old.epoch) == (link.side, link.epoch);
        self.0.retain(|old| !is_same(old) || !is_at_end(&old.stream));
        if self.0.len() < EARLY_LINKS_MAX && !self.0.iter().any(is_same) {
            self.0.push(link);
        }
    }

    /// Removes and returns all links.
    pub fn take(&mut self) -> Vec<EarlyLink> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use garland_sys::socket::pair;

    use super::*;

    #[test]
    fn a_lane_keeps_few_links_that_come_before_their_route_and_one_of_each_epoch() {
        let mut early = EarlyLinks::default();
        let link = |epoch| {
            let (near, far) = pair().unwrap();
            (EarlyLink { side: LinkSide::Up, epoch, stream: near }, far)
        };
        let fars: Vec<TcpStream> = (0..100)
            .map(|number| {
                let (link, far) = link(number / 2);
                early.keep(link);
                far
            })
            .collect();
        let kept = early.take();
        assert!(kept.iter().map(|link| link.epoch).eq(0..EARLY_LINKS_MAX as u32));
        let ends = kept.iter().map(|link| link.stream.peer_addr().unwrap());
        let first = fars.iter().step_by(2).map(|far| far.local_addr().unwrap());
        assert!(ends.eq(first.take(EARLY_LINKS_MAX)), "the first one of each epoch");
        assert!(early.take().is_empty());
    }
}
