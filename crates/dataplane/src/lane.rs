//! The thread of a lane: executes the orders of the lane's relay machine on sockets.

mod blocks;
mod digests;
mod early;
mod links;
mod sent_digests;
mod unfinished;
mod waiting;

use std::collections::VecDeque;
use std::sync::Arc;

use garland_core::plan::LaneBlocks;
use garland_core::trace::Stage;
use garland_protocol::copy::{
    DigestWindows, FRAME_LEN, Frame, Kind, Landing, LinkSide, Relay, RelayEvent, RelayOrder, Route,
};
use garland_sys::channel::{Receiver, Sender};
use garland_sys::clock;
use garland_sys::sync::Mutex;

use self::early::{EarlyLink, EarlyLinks};
use self::sent_digests::SentDigests;
use self::unfinished::UnfinishedFrames;
use crate::context::{CopyContext, LaneCommand, LaneHandle, Link, Notice};
use crate::feed::Feeder;
use crate::forwarder::Forwarder;
use crate::recorder::{LaneTracer, Recorder, peer_index};
use crate::writer::Arrived;

/// The number of slices in which a relay forwards a block. The last node of a chain of N nodes
/// receives the first byte after the time of about N slices.
const SLICES: usize = 4;

/// Which block a lane has sent last, when it looks for what has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fed {
    /// None: it has nothing to send.
    Nothing,
    /// The next one in the lane's order.
    InOrder,
    /// One that a downstream had requested.
    Requested,
}

/// What a lane has before its thread starts.
pub struct LaneParts {
    /// Its number.
    pub number: u16,
    /// Its blocks.
    pub blocks: LaneBlocks,
    /// The machine that decides what the lane does.
    pub relay: Relay,
    /// What other threads see of the lane.
    pub handle: Arc<LaneHandle>,
    /// Receives the commands that are sent to the handle.
    pub commands: Receiver<LaneCommand>,
    /// Prepares the blocks that the lane sends.
    pub feeder: Box<dyn Feeder>,
    /// Takes the blocks that arrive; none at a source and for a side-feed.
    pub writer: Option<Sender<Arrived>>,
}

/// A lane on this node: its relay machine, and the sockets, the feeder and the writer that it
/// directs.
pub struct Lane {
    number: u16,
    blocks: LaneBlocks,
    relay: Relay,
    copy: Arc<CopyContext>,
    handle: Arc<LaneHandle>,
    feeder: Box<dyn Feeder>,
    writer: Option<Sender<Arrived>>,
    forwarder: Forwarder,
    /// The signed digests of the lane's blocks. The side-feed threads of the lane share them.
    windows: Arc<Mutex<DigestWindows>>,
    sent_digests: SentDigests,
    /// On the source: the ordinal after the last block that was sent.
    sent_until: u64,
    /// Whether this is a side-feed whose downstream is no longer to be fed.
    is_over: bool,
    early: EarlyLinks,
    unfinished: UnfinishedFrames,
    /// The header of the block whose bytes are to be read next from the upstream.
    header: Option<(Frame, [u8; FRAME_LEN])>,
    tracer: LaneTracer,
    commands: Receiver<LaneCommand>,
    /// Commands that arrived during a wait, not executed yet.
    unread: VecDeque<LaneCommand>,
}

impl Lane {
    /// Returns a lane without links.
    pub fn new(copy: Arc<CopyContext>, parts: LaneParts) -> Self {
        let LaneParts { number, blocks, relay, handle, commands, feeder, writer } = parts;
        let slice = copy.layout.block_size as usize / SLICES;
        let windows = copy.windows(number);
        Self {
            number,
            blocks,
            relay,
            copy,
            handle,
            feeder,
            writer,
            forwarder: Forwarder::new(slice),
            windows,
            sent_digests: SentDigests::default(),
            sent_until: 0,
            is_over: false,
            early: EarlyLinks::default(),
            unfinished: UnfinishedFrames::default(),
            header: None,
            tracer: LaneTracer::default(),
            commands,
            unread: VecDeque::new(),
        }
    }

    /// Runs the lane until the copy is over on this node. Then puts idle links into the pool, if
    /// there is one.
    pub fn run(mut self) {
        let what = if self.copy.config.is_source { Stage::Send } else { Stage::Relay };
        let recorder = Recorder::new(&self.copy.config.trace, what);
        self.tracer = LaneTracer::new(recorder, self.number, Arc::clone(&self.handle.flow));
        let _watch = self.copy.config.awake.watch();
        self.work();
        if let Some(link_pool) = self.copy.config.link_pool.clone() {
            self.park(&link_pool);
        }
    }

    fn work(&mut self) {
        self.copy.tell_if_complete();
        while !self.copy.is_closing() {
            self.handle.wake.lower();
            // All orders of an event are executed before the next event: a block whose header was
            // read belongs to its link, which a command may replace.
            let mut fed = self.obey_all();
            while let Some(command) = self.next_command() {
                self.apply_command(command);
                fed = self.obey_all();
            }
            if self.copy.is_closing() || self.is_over {
                return;
            }
            if let Err(error) = self.wait(fed) {
                let reason = format!("cannot wait for data on its links: {error}");
                self.copy.tell(Notice::Failed(reason));
                return;
            }
        }
    }

    fn next_command(&mut self) -> Option<LaneCommand> {
        self.unread.pop_front().or_else(|| self.commands.try_recv().ok())
    }

    /// Executes orders until there are none, or until one block was sent: requests of downstreams
    /// must not wait until all blocks are sent. Returns which block was sent, if any, so that there
    /// may be more orders.
    fn obey_all(&mut self) -> Fed {
        while let Some(order) = self.poll() {
            let fed = match order {
                RelayOrder::Feed { again: true, .. } => Fed::Requested,
                RelayOrder::Feed { .. } => Fed::InOrder,
                _ => Fed::Nothing,
            };
            self.obey(order);
            if self.copy.is_closing() || fed != Fed::Nothing {
                return fed;
            }
        }
        Fed::Nothing
    }

    fn poll(&mut self) -> Option<RelayOrder> {
        let sink = self.copy.progress.sink();
        self.relay.poll(&sink)
    }

    fn handle(&mut self, event: RelayEvent) {
        let front_moved = {
            let mut sink = self.copy.progress.sink();
            let before = sink.front();
            self.relay.handle(event, &mut sink);
            before != sink.front()
        };
        if front_moved {
            self.copy.lanes.wake_others(self.number);
        }
    }

    fn apply_command(&mut self, command: LaneCommand) {
        match command {
            LaneCommand::Event(RelayEvent::Route(route)) => self.take_route(route),
            LaneCommand::Event(event) => {
                let landed = match event {
                    RelayEvent::Landed(index, landing) => Some((index, landing)),
                    _ => None,
                };
                self.handle(event);
                if let Some((index, landing)) = landed {
                    if landing == Landing::Written && self.copy.config.acknowledge {
                        self.copy.tell(Notice::Written(index));
                    }
                    self.copy.lanes.wake_side_feeds();
                    self.copy.tell_if_complete();
                }
            }
            LaneCommand::Link(side, epoch, stream) => {
                self.handle.take_waiting_link();
                self.take_link(EarlyLink { side, epoch, stream });
            }
        }
    }

    /// Opens a link of the route, or keeps one of a later route. Otherwise the link comes from a
    /// neighbour that was replaced, or from a connection attempt that outlasted its route: it is
    /// closed.
    fn take_link(&mut self, link: EarlyLink) {
        let EarlyLink { side, epoch, .. } = link;
        let route = self.relay.route();
        if let Some((node, _)) = route.peer(side, epoch) {
            let stream = Arc::new(link.stream);
            let opened_ns = clock::now_ns();
            self.open(Link { side, epoch, peer: peer_index(node), stream, opened_ns });
        } else if route.precedes(side, epoch) {
            self.early.keep(link);
        }
    }

    fn take_route(&mut self, route: Route) {
        self.tracer.route(&route);
        self.is_over = self.relay.is_side_feed() && route.downstreams.is_empty();
        self.handle(RelayEvent::Route(route));
        for link in self.early.take() {
            self.take_link(link);
        }
    }

    /// Returns the link to the upstream, if it is open.
    fn up(&self) -> Option<Link> {
        self.handle.link(LinkSide::Up, self.relay.route().epoch_up()?)
    }

    fn obey(&mut self, order: RelayOrder) {
        match order {
            RelayOrder::Open(side, node, epoch) => self.dial(side, node, epoch),
            RelayOrder::Close(side, epoch) => drop(self.close(side, epoch)),
            RelayOrder::SendUp(kind, index) => self.send_up(&self.frame(kind, index)),
            RelayOrder::SendHave(first, bits) => {
                self.send_up(&Frame { bits, ..self.frame(Kind::Have, first) });
            }
            RelayOrder::SendDown(epoch, kind, index) => {
                if kind == Kind::End {
                    self.send_all_digests(epoch, index);
                }
                self.send(LinkSide::Down, epoch, &self.frame(kind, index), &[]);
            }
            RelayOrder::Receive { store, forward, .. } => self.receive(store, &forward),
            RelayOrder::Feed { index, incarnation, again, to } => {
                self.feed(index, incarnation, again, &to);
            }
            RelayOrder::ReportBad(index) => self.copy.tell(Notice::Bad(index)),
            RelayOrder::ReportLost(side, epoch, reason) => {
                self.copy.tell(Notice::LinkLost(self.number, epoch, side, reason));
            }
            RelayOrder::Fail(error) => self.copy.tell(Notice::Failed(error.to_string())),
        }
    }
}
