//! Opens and closes the links of a lane, sends frames, and keeps idle links for the next copy.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use garland_core::trace::{NONE, Stage};
use garland_protocol::{Frame, Kind, LinkSide, RelayEvent};
use garland_sys::{tcp, threads};

use super::Lane;
use crate::context::{CopyConfig, LaneCommand, Notice};
use crate::recorder::peer_index;
use garland_sys::error::reason;
use garland_transport::link::{self, Hop};
use garland_transport::link_pool::LinkPool;
use garland_transport::{LinkError, break_reason};

impl Lane {
    pub(super) fn open(&mut self, side: LinkSide, epoch: u32, stream: TcpStream) {
        self.handle.note(side, epoch, Some(&stream));
        match side {
            LinkSide::Up => {
                self.up = Some((epoch, stream));
                self.handle(RelayEvent::UpOpened(epoch));
            }
            LinkSide::Down => {
                if let Err(error) = tcp::pace(&stream, self.member.config.pace) {
                    let reason = format!("cannot limit the rate of its link: {}", reason(&error));
                    return self.member.tell(Notice::Failed(reason));
                }
                self.downs.retain(|(of, _)| *of != epoch);
                self.downs.push((epoch, stream));
                self.handle(RelayEvent::DownOpened(epoch));
            }
        }
    }

    /// Connects to a neighbour in a separate thread: a new route may arrive meanwhile.
    pub(super) fn dial(&self, side: LinkSide, epoch: u32, address: SocketAddr) {
        let hop = Hop { lane: self.number, epoch };
        let peer = match side {
            LinkSide::Up => self.route.upstream.map(|(peer, ..)| peer),
            LinkSide::Down => self.downstream(epoch).map(|down| down.node),
        };
        let at = self.tracer.neighbor(peer.map_or(NONE, peer_index));
        let began = self.tracer.now();
        let (member, handle) = (Arc::clone(&self.member), Arc::clone(&self.handle));
        let lost = move |reason| {
            LaneCommand::Event(match side {
                LinkSide::Up => RelayEvent::UpLost(epoch, reason),
                LinkSide::Down => RelayEvent::DownLost(epoch, reason),
            })
        };
        let outside = Arc::clone(&handle);
        let begun = threads::spawn("dial", move || {
            let CopyConfig { copy, secret, congestion, transport, link_pool, trace, .. } =
                &member.config;
            let (copy, transport) = (*copy, *transport);
            let to = link::Dial { address, copy, hop, secret, congestion, transport };
            let dialed = link::dial(&to, link_pool.as_deref());
            trace.took(Stage::Dial, at, began);
            let command = match dialed {
                Ok(stream) => LaneCommand::Link(side, epoch, stream),
                Err(error) => lost(format!("cannot connect to {address}: {error}")),
            };
            handle.post(command);
        });
        if let Err(error) = begun {
            outside.post(lost(format!("cannot connect to {address}: {}", reason(&error))));
        }
    }

    /// Returns a frame of this lane, without a block.
    pub(super) fn frame(&self, kind: Kind, index: u64) -> Frame {
        Frame::bare(kind, self.member.config.copy, self.number, index)
    }

    pub(super) fn send(&self, mut stream: &TcpStream, frame: &Frame) -> io::Result<()> {
        stream.write_all(&frame.to_bytes(&self.member.keys))
    }

    /// Sends a frame and its payload.
    pub(super) fn send_with(
        &self,
        mut stream: &TcpStream,
        frame: &Frame,
        bytes: &[u8],
    ) -> io::Result<()> {
        stream.write_all(&[&frame.to_bytes(&self.member.keys)[..], bytes].concat())
    }

    /// Sends a frame to the upstream, if there is one.
    pub(super) fn send_up(&mut self, frame: &Frame) {
        let Some((_, stream)) = &self.up else { return };
        if let Err(error) = self.send(stream, frame) {
            self.lose_up(break_reason(&error));
        }
    }

    pub(super) fn after_down(&mut self, epoch: u32, result: io::Result<()>) {
        if let Err(error) = result {
            self.lose_down(epoch, break_reason(&error));
        }
    }

    /// Samples a link's counters before it is closed.
    pub(super) fn forget(&self, side: LinkSide, epoch: u32) {
        self.member.config.trace.sample_link(self.number, &self.handle, side);
        self.handle.note(side, epoch, None);
    }

    /// Closes the link to the upstream. Returns its epoch.
    pub(super) fn close_up(&mut self) -> Option<u32> {
        let (epoch, _) = self.up.take()?;
        self.forget(LinkSide::Up, epoch);
        Some(epoch)
    }

    pub(super) fn lose_up(&mut self, reason: String) {
        if let Some(epoch) = self.close_up() {
            self.handle(RelayEvent::UpLost(epoch, reason));
        }
    }

    pub(super) fn lose_down(&mut self, epoch: u32, reason: String) {
        self.forget(LinkSide::Down, epoch);
        if let Some(at) = self.downs.iter().position(|(of, _)| *of == epoch) {
            self.downs.remove(at);
            self.handle(RelayEvent::DownLost(epoch, reason));
        }
    }

    /// Reports a corrupt frame. Called before the link is lost: the head forgets replaced links.
    pub(super) fn tell_if_changed(&self, side: LinkSide, epoch: u32, error: &LinkError) {
        if let LinkError::Frame(_) = error {
            self.member.tell(Notice::BadFrame(self.number, epoch, side));
        }
    }

    /// Reads from an upstream that has sent the whole lane. Any further byte belongs to the
    /// greeting of the next copy, which the upstream learned of before this node; then the link
    /// goes to the pool. A closed link is lost as usual.
    pub(super) fn hand_over_upstream(&mut self, link_pool: &LinkPool) {
        let speaks = |stream: &TcpStream| matches!(stream.peek(&mut [0]), Ok(1));
        if self.up.as_ref().is_some_and(|(_, stream)| speaks(stream)) {
            let up = self.up.take();
            up.into_iter().for_each(|(epoch, stream)| {
                self.forget(LinkSide::Up, epoch);
                link_pool.park(stream, None);
            });
        } else {
            self.read_up();
        }
    }

    pub(super) fn park(&mut self, link_pool: &LinkPool) {
        let up_over = {
            let sink = self.member.sink();
            self.relay.is_up_over(&sink)
        };
        // Duplicate descriptors would keep a connection open that the next copy closes.
        if let Some((epoch, stream)) = self.up.take() {
            self.forget(LinkSide::Up, epoch);
            Some(stream).filter(|_| up_over).into_iter().for_each(|up| link_pool.park(up, None));
        }
        for (epoch, stream) in std::mem::take(&mut self.downs) {
            self.forget(LinkSide::Down, epoch);
            let address = self.downstream(epoch).and_then(|down| down.address);
            // A link keeps its rate limit, so a limited link is not reused.
            let fit = self.relay.is_down_over(epoch) && self.member.config.pace == 0;
            if address.is_some() && fit {
                link_pool.park(stream, address);
            }
        }
    }
}
