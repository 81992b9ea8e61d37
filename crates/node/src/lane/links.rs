//! A lane's links: opened, spoken on, lost, and parked for the next copy.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use garland_core::proto::{Frame, Kind, LinkSide, RelayEvent};
use garland_core::trace::Stage;

use super::Lane;
use crate::link::{self, Hop, LinkError, break_reason};
use crate::member::{Mail, Member, Notice};
use crate::parking::Parking;

impl Lane {
    pub(super) fn open(&mut self, side: LinkSide, epoch: u32, stream: TcpStream) {
        self.handle.note(side, Some((epoch, &stream)));
        match side {
            LinkSide::Up => {
                self.up = Some((epoch, stream));
                self.handle(RelayEvent::UpOpened(epoch));
            }
            LinkSide::Down => {
                self.down = Some((epoch, stream));
                self.handle(RelayEvent::DownOpened(epoch));
            }
        }
    }

    /// Connects to a neighbour from a thread of its own: the lane may be told of another one
    /// meanwhile.
    pub(super) fn dial(&self, side: LinkSide, epoch: u32, address: SocketAddr) {
        let hop = Hop { copy: self.member.copy, lane: self.number, epoch };
        let (at, began) = (self.passage.neighbor(side), self.passage.now());
        let (member, handle) = (Arc::clone(&self.member), Arc::clone(&self.handle));
        std::thread::spawn(move || {
            let Member { secret, keys, congestion, transport, .. } = &*member;
            let transport = *transport;
            let to = link::Dial { address, hop, secret, keys, congestion, transport };
            let dialed = link::dial(&to, member.parking.as_deref());
            member.trace.took(Stage::Dial, at, began);
            let mail = match dialed {
                Ok(stream) => Mail::Link(side, epoch, stream),
                Err(error) => {
                    let reason = format!("linking to {address}: {error}");
                    Mail::Event(match side {
                        LinkSide::Up => RelayEvent::UpLost(epoch, reason),
                        LinkSide::Down => RelayEvent::DownLost(epoch, reason),
                    })
                }
            };
            handle.post(mail);
        });
    }

    pub(super) fn send(&mut self, side: LinkSide, kind: Kind, index: u64) -> io::Result<()> {
        let link = match side {
            LinkSide::Up => &self.up,
            LinkSide::Down => &self.down,
        };
        let Some((_, stream)) = link else { return Ok(()) };
        let frame = Frame::bare(kind, self.member.copy, self.number, index);
        let mut stream: &TcpStream = stream;
        stream.write_all(&frame.to_bytes(&self.member.keys))
    }

    pub(super) fn after_up(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.lose_up(break_reason(&error));
        }
    }

    pub(super) fn after_down(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.lose_down(break_reason(&error));
        }
    }

    /// The link on this side is no more; what the kernel knew of it is noted.
    pub(super) fn forget(&self, side: LinkSide) {
        self.member.trace.sample_link(self.number, &self.handle, side);
        self.handle.note(side, None);
    }

    pub(super) fn lose_up(&mut self, reason: String) {
        self.forget(LinkSide::Up);
        if let Some((epoch, _)) = self.up.take() {
            self.handle(RelayEvent::UpLost(epoch, reason));
        }
    }

    pub(super) fn lose_down(&mut self, reason: String) {
        self.forget(LinkSide::Down);
        if let Some((epoch, _)) = self.down.take() {
            self.handle(RelayEvent::DownLost(epoch, reason));
        }
    }

    /// Tells of a frame that isn't what was sent. Told before the link's loss: the head forgets
    /// links that were replaced.
    pub(super) fn tell_if_changed(&self, side: LinkSide, error: &LinkError) {
        let link = match side {
            LinkSide::Up => &self.up,
            LinkSide::Down => &self.down,
        };
        if let (LinkError::Frame(_), Some((epoch, _))) = (error, link) {
            self.member.tell(Notice::BadFrame(self.number, *epoch, side));
        }
    }

    /// What comes from upstream when all of this copy has come is the next copy's greeting: the
    /// upstream has heard sooner that this one is over. A link that has ended is lost as ever.
    pub(super) fn give_up_to_the_next(&mut self, parking: &Parking) {
        let speaks = |stream: &TcpStream| matches!(stream.peek(&mut [0]), Ok(1));
        if self.up.as_ref().is_some_and(|(_, stream)| speaks(stream)) {
            self.forget(LinkSide::Up);
            self.up.take().into_iter().for_each(|(_, stream)| parking.park(stream, None));
        } else {
            self.read_up();
        }
    }

    pub(super) fn park(&mut self, parking: &Parking) {
        let up_over = {
            let sink = self.member.sink();
            self.relay.is_up_over(&sink)
        };
        // Second descriptors would keep a connection open that the next copy closes.
        self.forget(LinkSide::Up);
        self.forget(LinkSide::Down);
        let up = self.up.take().filter(|_| up_over);
        up.into_iter().for_each(|(_, stream)| parking.park(stream, None));
        let address = self.address.map(|(_, address)| address);
        let down = self.down.take().filter(|_| self.relay.is_down_over());
        if let Some((_, stream)) = down.filter(|_| address.is_some()) {
            parking.park(stream, address);
        }
    }
}
