//! The driver of the head: reads, hashes and seals blocks ahead, sends them to the node, and obeys
//! the machines of the protocol.

mod ahead;
mod link;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use garland_core::plan::{HEAD, LaneBlocks, Layout, NodeId, Plan};
use garland_protocol::{
    Begin, CopyId, Destination, DigestKey, DigestWindows, End, FRAME_LEN, Frame, FromAgent, Head,
    HeadEvent, HeadOrder, Keys, Kind, LinkSide, Policy, ReadBack, Relay, RelayEvent, RelayOrder,
    Secret, Sink, ToAgent, Verdict,
};

use self::ahead::{Ahead, Block};
use self::link::Link;
use crate::io::{
    Completion, Driver, FileId, OpenMode, Operation, Output, SocketId, Submission, Wait,
};
use crate::stream::MessageStream;

const CONTROL: SocketId = SocketId(0);
const SOURCE: FileId = FileId(0);
const RECEIVER: NodeId = NodeId(1);

/// How often the head shows the node that it lives, in nanoseconds.
const PING_NS: u64 = 400_000_000;

/// How long the head waits for its last messages to leave, in nanoseconds.
const FLUSH_NS: u64 = 1_000_000_000;

/// A copy of one file to one node.
#[derive(Clone, Debug)]
pub struct Job {
    /// The identity of the copy.
    pub copy: CopyId,
    /// Its secret.
    pub secret: Secret,
    /// The seed of the key that signs digests.
    pub seed: Secret,
    /// The source.
    pub source: PathBuf,
    /// The division of the source into blocks.
    pub layout: Layout,
    /// The path of the file on the node.
    pub destination: PathBuf,
    /// Whether blocks are encrypted.
    pub sealed: bool,
    /// Whether the file must be stable before the node reports that it has it.
    pub fsync: bool,
    /// The addresses of the node for control and for data.
    pub node: (SocketAddr, SocketAddr),
    /// The most blocks that are in memory at a time at the head.
    pub buffers: usize,
    /// The most blocks that are in memory at a time at the node.
    pub node_buffers: u16,
}

/// What a submission of the head is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadTag {
    /// The source is open.
    Opened,
    /// The control channel is connected.
    Connected,
    /// Messages arrive.
    ControlIn,
    /// A message leaves.
    ControlOut,
    /// A data link of this epoch is connected.
    Linked(u32),
    /// A request of the node arrives.
    LinkIn(u32),
    /// A frame or block leaves.
    LinkOut(u32),
    /// A block is read, hashed and sealed.
    Prepared(Block),
}

type Todo = Vec<Submission<HeadTag>>;

/// The head of a copy to one node.
pub struct HeadDriver {
    job: Job,
    blocks: LaneBlocks,
    keys: Keys,
    head: Head,
    relay: Relay,
    sink: Sink,
    windows: DigestWindows,
    control: MessageStream<ToAgent, FromAgent>,
    /// Whether the control channel is connected.
    is_connected: bool,
    link: Option<Link>,
    ahead: Ahead,
    /// The block that the relay wants to be sent.
    feeding: Option<Block>,
    address: Option<SocketAddr>,
    is_source_read: bool,
    begun: bool,
    ping_due: u64,
    /// When the copy is over, even if messages have not left.
    over_by: Option<u64>,
    todo: Todo,
}

impl HeadDriver {
    /// Returns the head of a copy that begins at `now`.
    ///
    /// # Panics
    /// Never: a plan with one node is possible.
    #[must_use]
    pub fn new(job: Job, now: u64) -> Self {
        let plan = Plan::broadcast(job.layout, &["n1".to_owned()], 1).expect("one node, one rail");
        let addresses = vec![Vec::new(), vec![job.node.1]];
        let blocks = LaneBlocks::all(job.layout.blocks());
        let mut relay = Relay::new(blocks, true);
        let mut sink = Sink::source(job.layout);
        let head = Head::new(job.copy, &plan, addresses, Policy::for_nodes(1), now);
        for route in head.routes(HEAD) {
            relay.handle(RelayEvent::Route(route), &mut sink);
        }
        let todo = vec![
            Submission { tag: HeadTag::Connected, call: Operation::Connect(CONTROL, job.node.0) },
            Submission {
                tag: HeadTag::Opened,
                call: Operation::Open(SOURCE, job.source.clone(), OpenMode::Read),
            },
        ];
        Self {
            keys: Keys::new(&job.secret, job.copy),
            windows: DigestWindows::new(job.copy, 0, &DigestKey::Sign(job.seed.clone())),
            ahead: Ahead::new(&job),
            address: Some(job.node.1),
            job,
            blocks,
            head,
            relay,
            sink,
            control: MessageStream::default(),
            is_connected: false,
            link: None,
            feeding: None,
            is_source_read: false,
            begun: false,
            ping_due: now,
            over_by: None,
            todo,
        }
    }

    /// Returns the verdict of the node; `None` before it has one.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.head.verdict(RECEIVER)
    }

    fn submit(&mut self, tag: HeadTag, call: Operation) {
        self.todo.push(Submission { tag, call });
    }

    fn complete(&mut self, now: u64, tag: HeadTag, output: Output) {
        match (tag, output) {
            (HeadTag::Opened, Output::Done(Ok(()))) => self.ahead.open(),
            (HeadTag::Opened, Output::Done(Err(error))) => self.source_failed(now, &error),
            (HeadTag::Connected, Output::Done(Ok(()))) => {
                self.is_connected = true;
                let begin = self.begin();
                self.control.push(&ToAgent::Begin(Box::new(begin)));
            }
            (HeadTag::Connected, Output::Done(Err(error))) => self.control_lost(now, &error),
            (HeadTag::ControlOut, Output::Moved(piece, result)) => match result {
                Ok(_) => self.control.sent(piece),
                Err(error) => self.control_lost(now, &error),
            },
            (HeadTag::ControlIn, Output::Moved(piece, result)) => match result {
                Ok(0) => self.control_lost(now, &io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {
                    self.control.received(piece);
                    self.take_messages(now);
                }
                Err(error) => self.control_lost(now, &error),
            },
            (HeadTag::Linked(epoch), Output::Done(result)) => self.linked(epoch, result),
            (HeadTag::LinkIn(epoch), Output::Moved(piece, result)) => {
                self.link_in(now, epoch, piece, result);
            }
            (HeadTag::LinkOut(epoch), Output::Moved(piece, result)) => {
                self.link_out(epoch, piece, result);
            }
            (HeadTag::Prepared(block), Output::Worked(work, result)) => {
                match self.ahead.prepared(block, work, result, &mut self.todo) {
                    Ok(Some(digest)) if self.sink.learn(block.index, digest).is_err() => {
                        let changed = io::Error::other("the source changed while it was copied");
                        self.source_failed(now, &changed);
                    }
                    Ok(_) => {}
                    Err(error) => self.source_failed(now, &error),
                }
            }
            (tag, output) => unreachable!("{output:?} does not belong to {tag:?}"),
        }
    }

    fn begin(&self) -> Begin {
        let job = &self.job;
        Begin {
            copy: job.copy,
            secret: job.secret.clone(),
            digest_key: DigestKey::Sign(job.seed.clone()).to_public(),
            sealed: job.sealed,
            layout: job.layout,
            lanes: vec![self.blocks],
            me: RECEIVER,
            end: End::Sink(Destination::File {
                path: job.destination.as_os_str().as_encoded_bytes().to_vec(),
                below: None,
                name: Vec::new(),
                mode: 0o644,
                times: None,
                fsync: job.fsync,
                room: job.layout.length,
                force_device: false,
            }),
            stripe: None,
            known: None,
            buffers: job.node_buffers,
            acknowledge: false,
            routes: self.head.routes(RECEIVER),
            congestion: Vec::new(),
            mptcp: false,
            pace: 0,
            read_back: ReadBack::default(),
            trace: 0,
            injections: Vec::new(),
        }
    }

    fn take_messages(&mut self, now: u64) {
        loop {
            match self.control.message() {
                Ok(None) => return,
                Ok(Some(message)) => {
                    self.begun |= matches!(message, FromAgent::Ready(_));
                    self.head.handle(now, HeadEvent::From(RECEIVER, message));
                }
                Err(reason) => return self.control_lost(now, &io::Error::other(reason)),
            }
        }
    }

    fn control_lost(&mut self, now: u64, error: &io::Error) {
        if std::mem::take(&mut self.is_connected) {
            self.submit(HeadTag::ControlIn, Operation::Close(CONTROL));
        }
        self.head.handle(now, HeadEvent::Lost(RECEIVER, error.to_string()));
    }

    fn source_failed(&mut self, now: u64, error: &io::Error) {
        self.head.handle(now, HeadEvent::SourceFailed(error.to_string()));
    }

    fn relay_event(&mut self, event: RelayEvent) {
        self.relay.handle(event, &mut self.sink);
    }

    /// Obeys the machines until they have no order left.
    fn obey(&mut self, now: u64) {
        loop {
            self.tell_if_read(now);
            if let Some(order) = self.head.poll() {
                self.obey_head(now, order);
            } else if let Some(order) = self.begun.then(|| self.relay.poll(&self.sink)).flatten() {
                self.obey_relay(now, order);
            } else if !self.feed() {
                return;
            }
        }
    }

    fn tell_if_read(&mut self, now: u64) {
        if !self.is_source_read
            && let Some(root) = self.sink.root()
        {
            self.is_source_read = true;
            self.head.handle(now, HeadEvent::SourceRead(root));
        }
    }

    fn obey_head(&mut self, now: u64, order: HeadOrder) {
        match order {
            HeadOrder::Send(_, message) => self.control.push(&message),
            HeadOrder::Route(route) => {
                self.address = route.downstreams.first().and_then(|down| down.address);
                self.relay_event(RelayEvent::Route(route));
            }
            HeadOrder::Finished => self.over_by = Some(now + FLUSH_NS),
        }
    }

    fn obey_relay(&mut self, now: u64, order: RelayOrder) {
        match order {
            RelayOrder::OpenDown(_, epoch) => {
                if let Some(address) = self.address {
                    self.link = Some(Link::new(epoch));
                    self.submit(
                        HeadTag::Linked(epoch),
                        Operation::Connect(Link::socket(epoch), address),
                    );
                }
            }
            RelayOrder::CloseDown(epoch) => self.close_link(epoch),
            RelayOrder::SendDown(epoch, kind, index) => {
                let frame = Frame::bare(kind, self.job.copy, 0, index);
                if let Some(link) = self.link.as_mut().filter(|link| link.epoch() == epoch) {
                    if let Some(last) =
                        self.blocks.len().checked_sub(1).filter(|_| kind == Kind::End)
                    {
                        link.send_digests(
                            last,
                            &self.blocks,
                            &mut self.windows,
                            &self.sink,
                            &self.keys,
                        );
                    }
                    link.send_frame(&frame, &self.keys);
                }
            }
            RelayOrder::Feed { index, incarnation, again, .. } => {
                self.feeding = Some(Block { index, incarnation, again });
            }
            RelayOrder::ReportLost(LinkSide::Down, epoch, reason) => {
                self.head.handle(now, HeadEvent::LinkLost(0, epoch, reason));
            }
            RelayOrder::Fail(error) => {
                self.source_failed(now, &io::Error::other(error.to_string()))
            }
            // A source has no upstream.
            RelayOrder::CloseUp
            | RelayOrder::SendUp(..)
            | RelayOrder::SendHave(..)
            | RelayOrder::Receive { .. }
            | RelayOrder::ReportLost(LinkSide::Up, ..)
            | RelayOrder::ReportBad(_) => {}
        }
    }

    /// Sends the block that the relay wants to be sent, if it is prepared. Returns whether it is.
    fn feed(&mut self) -> bool {
        let Some(block) = self.feeding else { return false };
        let Some(link) = &mut self.link else { return false };
        let Some(piece) = self.ahead.take(block, &self.keys, &mut self.todo) else { return false };
        self.feeding = None;
        if let Some(place) = self.blocks.ordinal(block.index) {
            link.send_digests(place, &self.blocks, &mut self.windows, &self.sink, &self.keys);
        }
        link.send_block(piece);
        true
    }

    fn linked(&mut self, epoch: u32, result: io::Result<()>) {
        let Some(link) = self.link.as_mut().filter(|link| link.epoch() == epoch) else {
            return self.submit(HeadTag::Linked(epoch), Operation::Close(Link::socket(epoch)));
        };
        match result {
            Ok(()) => {
                let open = Frame { epoch, ..Frame::bare(Kind::Open, self.job.copy, 0, 0) };
                link.opened(&open, &self.keys);
                self.relay_event(RelayEvent::DownOpened(epoch));
            }
            Err(error) => self.lose_link(epoch, error.to_string()),
        }
    }

    fn link_in(
        &mut self,
        now: u64,
        epoch: u32,
        piece: crate::io::Piece,
        result: io::Result<usize>,
    ) {
        let Some(link) = self.link.as_mut().filter(|link| link.epoch() == epoch) else { return };
        match result {
            Ok(0) => self.lose_link(epoch, "the node closed the link".to_owned()),
            Err(error) => self.lose_link(epoch, error.to_string()),
            Ok(_) if !piece.is_done() => link.receive(piece),
            Ok(_) => {
                let bytes = piece.buffer[..].try_into().unwrap_or([0; FRAME_LEN]);
                match Frame::parse(&bytes, &self.keys) {
                    Ok(frame) => {
                        if frame.kind == Kind::Resume {
                            link.begin_digests(frame.index);
                        }
                        link.receive(Link::header());
                        self.relay_event(match frame.kind {
                            Kind::Have => RelayEvent::Have(epoch, frame.index, frame.bits),
                            kind => RelayEvent::Requested(epoch, kind, frame.index),
                        });
                    }
                    Err(error) => {
                        self.head.handle(now, HeadEvent::BadFrame(0, epoch));
                        self.lose_link(epoch, error.to_string());
                    }
                }
            }
        }
    }

    fn link_out(&mut self, epoch: u32, piece: crate::io::Piece, result: io::Result<usize>) {
        let Some(link) = self.link.as_mut().filter(|link| link.epoch() == epoch) else {
            return self.ahead.recycle(piece.buffer);
        };
        match (result, link.sent(piece)) {
            (Err(error), gone) => {
                gone.into_iter().for_each(|piece| self.ahead.recycle(piece.0.buffer));
                self.lose_link(epoch, error.to_string());
            }
            (Ok(_), Some((piece, true))) => {
                self.ahead.recycle(piece.buffer);
                self.relay_event(RelayEvent::Fed);
            }
            (Ok(_), _) => {}
        }
    }

    fn close_link(&mut self, epoch: u32) {
        let Some(mut link) = self.link.take_if(|link| link.epoch() == epoch) else { return };
        link.clear().for_each(|piece| self.ahead.recycle(piece.buffer));
        self.feeding = None;
        self.submit(HeadTag::Linked(epoch), Operation::Close(Link::socket(epoch)));
    }

    fn lose_link(&mut self, epoch: u32, reason: String) {
        self.close_link(epoch);
        self.relay_event(RelayEvent::DownLost(epoch, reason));
    }
}

impl Driver for HeadDriver {
    type Tag = HeadTag;

    fn step(&mut self, now: u64, done: &mut Vec<Completion<HeadTag>>, todo: &mut Todo) -> Wait {
        for Completion { tag, output } in done.drain(..) {
            self.complete(now, tag, output);
        }
        if self.head.deadline().is_some_and(|deadline| deadline <= now) {
            self.head.handle(now, HeadEvent::Tick);
        }
        if self.is_connected && self.ping_due <= now {
            self.ping_due = now + PING_NS;
            self.control.push(&ToAgent::Ping);
        }
        self.obey(now);
        if self.over_by.is_none() {
            self.ahead.claim(&self.blocks, &self.keys, &mut self.todo);
        }
        if self.is_connected {
            let (send, receive) = self.control.next(CONTROL);
            send.into_iter().for_each(|call| self.submit(HeadTag::ControlOut, call));
            receive.into_iter().for_each(|call| self.submit(HeadTag::ControlIn, call));
        }
        if let Some(link) = &mut self.link {
            link.submit(&mut self.todo);
        }
        todo.append(&mut self.todo);
        match self.over_by {
            Some(by) if now >= by || !self.is_connected || self.control.is_sent() => Wait::Over,
            Some(by) => Wait::Until(by),
            None => {
                let ping = if self.is_connected { self.ping_due } else { u64::MAX };
                Wait::Until(self.head.deadline().unwrap_or(u64::MAX).min(ping))
            }
        }
    }
}
