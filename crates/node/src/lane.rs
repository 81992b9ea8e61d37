//! A lane's thread: obeys its relay machine with real sockets.

mod blocks;
mod links;
mod waiting;

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use garland_core::plan::LaneBlocks;
use garland_core::proto::{FRAME_LEN, Frame, Landing, LinkSide, Relay, RelayEvent, RelayOrder};
use garland_core::trace::Stage;

use crate::conduit::{Conduit, Path};
use crate::feed::Feeder;
use crate::member::{LaneHandle, Mail, Member, Notice};
use crate::recorder::Passage;
use crate::writer::Arrived;

/// A relay passes a block on in so many slices: a chain of N nodes takes N slices' time to fill.
const SLICES: usize = 4;

/// A lane on this node.
pub struct Lane {
    number: u16,
    blocks: LaneBlocks,
    relay: Relay,
    member: Arc<Member>,
    handle: Arc<LaneHandle>,
    feeder: Box<dyn Feeder>,
    writer: Option<Sender<Arrived>>,
    conduit: Conduit,
    up: Option<(u32, TcpStream)>,
    down: Option<(u32, TcpStream)>,
    /// Where the downstream of the present route listens, if this node opens the link.
    address: Option<(u32, SocketAddr)>,
    /// The epochs of the upstream and downstream links that the present route names.
    expected: [Option<u32>; 2],
    /// Links from neighbours that came before the route that names them.
    early: Vec<(LinkSide, u32, TcpStream)>,
    /// The header of the block that the machine is about to receive.
    header: Option<(Frame, [u8; FRAME_LEN])>,
    /// What is noted of the blocks' way.
    passage: Passage,
}

/// What a lane is made of.
pub struct LaneParts {
    /// Its number in the plan.
    pub number: u16,
    /// Its blocks.
    pub blocks: LaneBlocks,
    /// The node's part in the copy.
    pub member: Arc<Member>,
    /// Its outside.
    pub handle: Arc<LaneHandle>,
    /// Where the blocks it feeds come from.
    pub feeder: Box<dyn Feeder>,
    /// Who writes what it receives; nobody at the head.
    pub writer: Option<Sender<Arrived>>,
    /// How bytes go through this node.
    pub path: Path,
}

impl Lane {
    /// A lane with no hops yet.
    #[must_use]
    pub fn new(parts: LaneParts) -> Self {
        let LaneParts { number, blocks, member, handle, feeder, writer, path } = parts;
        let relay = Relay::new(blocks, member.is_source);
        let slice = member.layout.block_size as usize / SLICES;
        Self {
            number,
            blocks,
            relay,
            member,
            handle,
            feeder,
            writer,
            conduit: Conduit::new(path, slice),
            up: None,
            down: None,
            address: None,
            expected: [None; 2],
            early: Vec::new(),
            header: None,
            passage: Passage::default(),
        }
    }

    /// Works until the copy is over here; parks the links on which nothing is under way then.
    pub fn run(mut self, letters: &Receiver<Mail>) {
        let what = if self.member.is_source { Stage::Send } else { Stage::Relay };
        self.passage = Passage::new(self.member.trace.recorder(what), self.number);
        let _watch = self.member.awake.watch();
        self.work(letters);
        if let Some(parking) = self.member.parking.clone() {
            self.park(&parking);
        }
    }

    fn work(&mut self, letters: &Receiver<Mail>) {
        self.member.tell_if_complete();
        while !self.member.is_closing() {
            self.handle.wake.lower();
            // Every event's orders are obeyed before the next event: a block whose header has been
            // read belongs to the link that it came by, and a letter may replace that link.
            let mut more = self.obey_all();
            while let Ok(mail) = letters.try_recv() {
                self.read_mail(mail);
                more = self.obey_all();
            }
            if self.member.is_closing() {
                return;
            }
            if let Err(error) = self.wait(more) {
                self.member.tell(Notice::Failed(format!("waiting for its links: {error}")));
                return;
            }
        }
    }

    /// Obeys until there is nothing to do, or a block was fed: what the downstream asks must not
    /// wait until there is nothing more to feed. Says whether there may be more to do.
    fn obey_all(&mut self) -> bool {
        while let Some(order) = self.poll() {
            let feeds = matches!(order, RelayOrder::Feed { .. });
            self.obey(order);
            if self.member.is_closing() || feeds {
                return feeds;
            }
        }
        false
    }

    fn poll(&mut self) -> Option<RelayOrder> {
        let sink = self.member.sink();
        self.relay.poll(&sink)
    }

    fn handle(&mut self, event: RelayEvent) {
        let front_moved = {
            let mut sink = self.member.sink();
            let before = sink.front();
            self.relay.handle(event, &mut sink);
            before != sink.front()
        };
        if front_moved {
            self.member.wake_others(self.number);
        }
    }

    fn read_mail(&mut self, mail: Mail) {
        match mail {
            Mail::Event(RelayEvent::Route(route)) => {
                self.passage.route(&route);
                self.handle.note_peers(&route);
                let (up, down) = (route.upstream, route.downstream);
                self.address = down.and_then(|(_, epoch, address)| Some((epoch, address?)));
                let [before, _] = self.expected;
                self.expected = [up.map(|(_, epoch, _)| epoch), down.map(|(_, epoch, _)| epoch)];
                self.handle(RelayEvent::Route(route));
                if let Some((_, epoch, Some(address))) = up.filter(|_| before != self.expected[0]) {
                    self.dial(LinkSide::Up, epoch, address);
                }
                for (side, epoch, stream) in std::mem::take(&mut self.early) {
                    self.read_mail(Mail::Link(side, epoch, stream));
                }
            }
            Mail::Event(event) => {
                let landed = if let RelayEvent::Landed(index, landing) = event {
                    Some((index, landing))
                } else {
                    None
                };
                self.handle(event);
                if let Some((index, landing)) = landed {
                    if landing == Landing::Written && self.member.acknowledge {
                        self.member.tell(Notice::Written(index));
                    }
                    self.member.tell_if_complete();
                }
            }
            Mail::Link(side, epoch, stream) => {
                let expected = self.expected[usize::from(side == LinkSide::Down)];
                match Some(epoch).cmp(&expected) {
                    std::cmp::Ordering::Equal => self.open(side, epoch, stream),
                    std::cmp::Ordering::Greater => self.early.push((side, epoch, stream)),
                    // A neighbour that has been replaced since, or a dial that took longer than its
                    // route lasted: closing the link tells it so.
                    std::cmp::Ordering::Less => {}
                }
            }
        }
    }

    fn obey(&mut self, order: RelayOrder) {
        match order {
            RelayOrder::OpenDown(_, epoch) => {
                if let Some((_, address)) = self.address.filter(|(of, _)| *of == epoch) {
                    self.dial(LinkSide::Down, epoch, address);
                }
            }
            RelayOrder::CloseDown => {
                self.forget(LinkSide::Down);
                self.down = None;
            }
            RelayOrder::CloseUp => {
                self.forget(LinkSide::Up);
                self.up = None;
            }
            RelayOrder::AskUp(kind, index) => {
                let sent = self.send(LinkSide::Up, kind, index);
                self.after_up(sent);
            }
            RelayOrder::SendDown(kind, index) => {
                let sent = self.send(LinkSide::Down, kind, index);
                self.after_down(sent);
            }
            RelayOrder::Receive { store, forward, .. } => self.receive(store, forward),
            RelayOrder::Feed { index, incarnation } => self.feed(index, incarnation),
            RelayOrder::ReportBad(index) => self.member.tell(Notice::Bad(index)),
            RelayOrder::ReportLost(side, epoch, reason) => {
                self.member.tell(Notice::LinkLost(self.number, epoch, side, reason));
            }
            RelayOrder::Fail(error) => self.member.tell(Notice::Failed(error.to_string())),
        }
    }
}
