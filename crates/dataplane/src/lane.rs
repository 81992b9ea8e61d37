//! The thread of a lane: executes the orders of the lane's relay machine on sockets.

mod blocks;
mod digests;
mod links;
mod sent_digests;
mod waiting;

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use garland_core::plan::LaneBlocks;
use garland_core::trace::Stage;
use garland_protocol::{
    DigestWindows, Downstream, FRAME_LEN, Frame, Kind, Landing, LinkSide, Relay, RelayEvent,
    RelayOrder, Route,
};

use self::sent_digests::SentDigests;
use crate::context::{CopyContext, LaneCommand, LaneHandle, Notice};
use crate::feed::Feeder;
use crate::forwarder::Forwarder;
use crate::recorder::{LaneTracer, Recorder};
use crate::writer::Arrived;

/// The number of slices in which a relay forwards a block. A chain of N nodes takes the time of N
/// slices to fill.
const SLICES: usize = 4;

/// A lane on this node.
pub struct Lane {
    number: u16,
    blocks: LaneBlocks,
    relay: Relay,
    member: Arc<CopyContext>,
    handle: Arc<LaneHandle>,
    feeder: Box<dyn Feeder>,
    writer: Option<Sender<Arrived>>,
    forwarder: Forwarder,
    up: Option<(u32, TcpStream)>,
    downs: Vec<(u32, TcpStream)>,
    /// The signed digests of the lane's blocks, shared with the threads that feed on its side.
    windows: Arc<Mutex<DigestWindows>>,
    sent_digests: SentDigests,
    /// The present route of the lane.
    route: Route,
    /// Whether this lane fed a downstream on the side and is no longer needed.
    is_over: bool,
    /// Links that neighbours opened before the route that names the links arrived.
    early: Vec<(LinkSide, u32, TcpStream)>,
    /// The header of the next block to be received.
    header: Option<(Frame, [u8; FRAME_LEN])>,
    /// Records the trace.
    tracer: LaneTracer,
    commands: Receiver<LaneCommand>,
    /// Commands that arrived during a wait, not executed yet.
    unread: VecDeque<LaneCommand>,
}

impl Lane {
    /// Returns a lane without links. `handle` is its handle and `commands` the receiver of its
    /// commands; a source has no `writer`.
    pub fn new(
        member: Arc<CopyContext>,
        (number, blocks): (u16, LaneBlocks),
        relay: Relay,
        (handle, commands): (Arc<LaneHandle>, Receiver<LaneCommand>),
        feeder: Box<dyn Feeder>,
        writer: Option<Sender<Arrived>>,
    ) -> Self {
        let slice = member.layout.block_size as usize / SLICES;
        let windows = member.windows(number);
        Self {
            number,
            blocks,
            relay,
            member,
            handle,
            feeder,
            writer,
            forwarder: Forwarder::new(slice),
            up: None,
            downs: Vec::new(),
            windows,
            sent_digests: SentDigests::default(),
            route: Route { lane: number, upstream: None, downstreams: Vec::new() },
            is_over: false,
            early: Vec::new(),
            header: None,
            tracer: LaneTracer::default(),
            commands,
            unread: VecDeque::new(),
        }
    }

    /// Works until the copy is over on this node; then hands idle links to the pool.
    pub fn run(mut self) {
        let what = if self.member.config.is_source { Stage::Send } else { Stage::Relay };
        // A trace has one thread per lane.
        let recorder = match self.relay.is_side_feed() {
            false => Recorder::new(&self.member.config.trace, what),
            true => Recorder::default(),
        };
        self.tracer = LaneTracer::new(recorder, self.number, Arc::clone(&self.handle.flow));
        let _watch = self.member.config.awake.watch();
        self.work();
        if let Some(link_pool) = self.member.config.link_pool.clone() {
            self.park(&link_pool);
        }
    }

    fn work(&mut self) {
        self.member.tell_if_complete();
        while !self.member.is_closing() {
            self.handle.wake.lower();
            // All orders of an event are executed before the next event: a block whose header was
            // read belongs to its link, which a command may replace.
            let mut more = self.obey_all();
            while let Some(command) = self.next_command() {
                self.apply_command(command);
                more = self.obey_all();
            }
            if self.member.is_closing() || self.is_over {
                return;
            }
            if let Err(error) = self.wait(more) {
                let reason = format!("cannot wait for data on its links: {error}");
                self.member.tell(Notice::Failed(reason));
                return;
            }
        }
    }

    fn next_command(&mut self) -> Option<LaneCommand> {
        self.unread.pop_front().or_else(|| self.commands.try_recv().ok())
    }

    /// Executes orders until there are none, or one block was sent: requests of downstreams must
    /// not wait until all blocks are sent. Returns whether there may be more orders.
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
                    if landing == Landing::Written && self.member.config.acknowledge {
                        self.member.tell(Notice::Written(index));
                    }
                    self.member.side_feeds.wake();
                    self.member.tell_if_complete();
                }
            }
            LaneCommand::Link(side, epoch, stream) => {
                let expected: Vec<u32> = match side {
                    LinkSide::Up => self.route.epoch_up().into_iter().collect(),
                    LinkSide::Down => self.route.epochs_down().collect(),
                };
                if expected.contains(&epoch) {
                    self.open(side, epoch, stream);
                } else if expected.iter().max().is_none_or(|&newest| newest < epoch) {
                    self.early.push((side, epoch, stream));
                }
                // Otherwise the link comes from a neighbour that was replaced, or from a connection
                // attempt that outlasted its route: it is closed here.
            }
        }
    }

    fn take_route(&mut self, route: Route) {
        self.tracer.route(&route);
        self.handle.note_peers(&route);
        self.is_over = self.relay.is_side_feed() && route.downstreams.is_empty();
        let before = std::mem::replace(&mut self.route, route.clone()).epoch_up();
        let up = route.upstream.filter(|(_, epoch, _)| before != Some(*epoch));
        self.handle(RelayEvent::Route(route));
        if let Some((_, epoch, Some(address))) = up {
            self.dial(LinkSide::Up, epoch, address);
        }
        for (side, epoch, stream) in std::mem::take(&mut self.early) {
            self.apply_command(LaneCommand::Link(side, epoch, stream));
        }
    }

    /// Returns the downstream of the link with this epoch, by the present route.
    fn downstream(&self, epoch: u32) -> Option<&Downstream> {
        self.route.downstreams.iter().find(|down| down.epoch == epoch)
    }

    fn obey(&mut self, order: RelayOrder) {
        match order {
            RelayOrder::OpenDown(_, epoch) => {
                if let Some(address) = self.downstream(epoch).and_then(|down| down.address) {
                    self.dial(LinkSide::Down, epoch, address);
                }
            }
            RelayOrder::CloseDown(epoch) => {
                self.forget(LinkSide::Down, epoch);
                self.downs.retain(|(of, _)| *of != epoch);
            }
            RelayOrder::CloseUp => {
                self.close_up();
            }
            RelayOrder::SendUp(kind, index) => self.send_up(&self.frame(kind, index)),
            RelayOrder::SendHave(first, bits) => {
                self.send_up(&Frame { bits, ..self.frame(Kind::Have, first) });
            }
            RelayOrder::SendDown(epoch, kind, index) => {
                if kind == Kind::End {
                    self.send_all_digests(epoch, index);
                }
                if let Some((_, stream)) = self.downs.iter().find(|(of, _)| *of == epoch) {
                    let sent = self.send(stream, &self.frame(kind, index));
                    self.after_down(epoch, sent);
                }
            }
            RelayOrder::Receive { store, forward, .. } => self.receive(store, &forward),
            RelayOrder::Feed { index, incarnation, again, to } => {
                self.feed(index, incarnation, again, &to);
            }
            RelayOrder::ReportBad(index) => self.member.tell(Notice::Bad(index)),
            RelayOrder::ReportLost(side, epoch, reason) => {
                self.member.tell(Notice::LinkLost(self.number, epoch, side, reason));
            }
            RelayOrder::Fail(error) => self.member.tell(Notice::Failed(error.to_string())),
        }
    }
}
