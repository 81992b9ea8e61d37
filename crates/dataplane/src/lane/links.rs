//! Opens and closes the links of a lane, sends frames, and keeps idle links for the next copy.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use garland_core::plan::NodeId;
use garland_core::trace::Stage;
use garland_protocol::copy::{Frame, Kind, LinkSide, RelayEvent, link_id};
use garland_sys::error::reason;
use garland_sys::{tcp, threads};
use garland_transport::break_reason;
use garland_transport::link;
use garland_transport::link_pool::LinkPool;

use super::Lane;
use crate::context::{CopyConfig, LaneCommand, Link, Notice};
use crate::recorder::peer_index;

impl Lane {
    pub(super) fn open(&mut self, link: Link) {
        let Link { side, epoch, .. } = link;
        if side == LinkSide::Down
            && let Err(error) = tcp::pace(&link.stream, self.copy.config.pace)
        {
            let reason = format!("cannot limit the rate of its link: {}", reason(&error));
            return self.copy.tell(Notice::Failed(reason));
        }
        if self.handle.add(link) {
            // It may replace a link of the same epoch.
            self.unfinished.forget(side, epoch);
            self.handle(RelayEvent::Opened(side, epoch));
        }
    }

    /// Connects to a neighbour, if the route says that this node opens the link. Uses a separate
    /// thread, since a new route may arrive meanwhile.
    pub(super) fn dial(&self, side: LinkSide, node: NodeId, epoch: u32) {
        let Some((_, Some(address))) = self.relay.route().peer(side, epoch) else { return };
        let id = link_id(self.copy.config.id, self.number, epoch);
        let secret = self.relay.route().secret(epoch).cloned();
        let at = self.tracer.neighbor(peer_index(node));
        let began = self.tracer.now();
        let copy = Arc::clone(&self.copy);
        let handle = Arc::clone(&self.handle);
        let lost = move |reason| LaneCommand::Event(RelayEvent::Lost(side, epoch, reason));
        let outside = Arc::clone(&handle);
        let Some(secret) = secret else {
            return outside.post(lost("the head has sent no secret of this link".to_owned()));
        };
        let begun = threads::spawn("dial", move || {
            let CopyConfig { congestion, transport, link_pool, trace, .. } = &copy.config;
            let transport = *transport;
            let to = link::Dial { address, id, secret: &secret, congestion, transport };
            let dialed = link::dial(&to, link_pool.as_deref());
            trace.took(Stage::Dial, at, began);
            let command = match dialed {
                Ok(stream) => LaneCommand::Link(side, epoch, stream),
                Err(error) => lost(format!("cannot connect to {address}: {error}")),
            };
            handle.post(command);
        });
        if let Err(error) = begun {
            let error = reason(&error);
            outside.post(lost(format!("cannot start a thread that opens the link: {error}")));
        }
    }

    /// Returns a frame of this lane, with this kind and index, that is sent without a block.
    pub(super) fn frame(&self, kind: Kind, index: u64) -> Frame {
        Frame::bare(kind, self.copy.config.id, self.number, index)
    }

    /// Sends a frame and its payload over the link of this side and epoch, if it is open. A link
    /// that breaks is closed.
    pub(super) fn send(&mut self, side: LinkSide, epoch: u32, frame: &Frame, payload: &[u8]) {
        let Some(link) = self.handle.link(side, epoch) else { return };
        let bytes = [&frame.to_bytes(&self.copy.codec.keys)[..], payload].concat();
        if let Err(error) = (&*link.stream).write_all(&bytes) {
            self.lose(side, epoch, break_reason(&error));
        }
    }

    /// Sends a frame to the upstream, if its link is open.
    pub(super) fn send_up(&mut self, frame: &Frame) {
        if let Some(epoch) = self.relay.route().epoch_up() {
            self.send(LinkSide::Up, epoch, frame, &[]);
        }
    }

    /// Removes and returns a link; none if it is not open. Before that, samples the counters of all
    /// links on its side.
    pub(super) fn close(&mut self, side: LinkSide, epoch: u32) -> Option<Link> {
        self.unfinished.forget(side, epoch);
        self.copy.config.trace.sample_link(self.number, &self.handle, side);
        self.handle.remove(side, epoch)
    }

    /// Closes a link that broke for this reason, and informs the relay machine.
    pub(super) fn lose(&mut self, side: LinkSide, epoch: u32, reason: String) {
        if self.close(side, epoch).is_some() {
            self.handle(RelayEvent::Lost(side, epoch, reason));
        }
    }

    /// Closes the link to the upstream, which broke for this reason.
    pub(super) fn lose_up(&mut self, reason: String) {
        if let Some(epoch) = self.relay.route().epoch_up() {
            self.lose(LinkSide::Up, epoch, reason);
        }
    }

    /// Handles bytes, or the end of the connection, from an upstream that has sent the whole lane.
    /// Bytes are the greeting of the next copy, which has begun on the upstream earlier than on
    /// this node: the link goes to the pool. Otherwise they are the rest of a frame. A closed
    /// connection is handled like any broken link.
    pub(super) fn hand_over_upstream(&mut self, link_pool: &LinkPool) {
        let speaks = |up: &Link| matches!(up.stream.peek(&mut [0]), Ok(1));
        let is_between = |up: &Link| !self.unfinished.has(LinkSide::Up, up.epoch);
        match self.up().filter(is_between).filter(speaks).map(|up| up.epoch) {
            Some(epoch) => self.park_link(link_pool, LinkSide::Up, epoch, None),
            None => self.read_up(),
        }
    }

    /// Closes a link, and puts its connection into the pool unless another thread still uses it, or
    /// the rest of a frame may follow on it.
    /// `dialled` is the address of the peer if this node opened the connection.
    fn park_link(
        &mut self,
        link_pool: &LinkPool,
        side: LinkSide,
        epoch: u32,
        dialled: Option<SocketAddr>,
    ) {
        let is_between = !self.unfinished.has(side, epoch);
        let link = self.close(side, epoch).filter(|_| is_between);
        let stream = link.and_then(|link| Arc::into_inner(link.stream));
        stream.into_iter().for_each(|stream| link_pool.park(stream, dialled));
    }

    /// Puts the links that the copy no longer needs into the pool, and closes the others.
    pub(super) fn park(&mut self, link_pool: &LinkPool) {
        let route = self.relay.route().clone();
        let up = route.epoch_up().filter(|_| self.relay.is_up_over(&self.copy.progress.sink()));
        if let Some(epoch) = up {
            self.park_link(link_pool, LinkSide::Up, epoch, None);
        }
        // A link keeps its rate limit, so a limited link is not reused.
        let is_limited = self.copy.config.pace != 0;
        for down in route.downstreams.iter().filter(|down| !is_limited && down.address.is_some()) {
            if self.relay.is_down_over(down.epoch) {
                self.park_link(link_pool, LinkSide::Down, down.epoch, down.address);
            }
        }
        for side in [LinkSide::Up, LinkSide::Down] {
            for link in self.handle.links(side) {
                self.close(side, link.epoch);
            }
        }
    }
}
