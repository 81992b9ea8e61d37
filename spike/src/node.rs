//! The driver of a node: receives blocks, opens, checks and writes them, and gives the file its
//! name when the head says so.

mod place;
mod upstream;

use std::io;

use garland_core::plan::LaneBlocks;
use garland_protocol::{
    Begin, DigestWindows, FRAME_LEN, Frame, FromAgent, Keys, Kind, Landing, LaneReport, LinkSide,
    Relay, RelayEvent, RelayOrder, Report, Route, Sink, Store, TAG_LEN, ToAgent, WINDOW_BYTES_MAX,
};

use self::place::Place;
pub use self::place::Step;
use self::upstream::{Expected, Upstream};
use crate::buffers::Buffers;
use crate::io::{Completion, Driver, FileId, Operation, Output, Piece, SocketId, Submission, Wait};
use crate::stage::{Opener, Stage, Stop, Work};
use crate::stream::MessageStream;
use std::sync::Arc;

/// The listener for the control channel.
pub const CONTROL_LISTENER: SocketId = SocketId(0);
/// The listener for data links.
pub const DATA_LISTENER: SocketId = SocketId(1);
const CONTROL: SocketId = SocketId(2);
const FIRST_LINK: u32 = 3;
const FILE: FileId = FileId(0);

/// How often the node shows the head that it lives, in nanoseconds.
const HEARTBEAT_NS: u64 = 100_000_000;

/// How long the node waits for a word of the head, in nanoseconds.
const SILENCE_NS: u64 = 5_000_000_000;

/// What a submission of the node is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeTag {
    /// The head has connected.
    Controlled,
    /// Messages arrive.
    ControlIn,
    /// A message leaves.
    ControlOut,
    /// A data link is accepted.
    Linked(SocketId),
    /// Bytes of a data link arrive.
    LinkIn(SocketId),
    /// A request leaves.
    LinkOut(SocketId),
    /// A block is opened, checked and written.
    Written(u64),
    /// A step of the file's way to its name is done.
    Placed(Step),
}

/// A fault that is put into the driver on purpose, to see whether the simulator finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flaw {
    /// None.
    #[default]
    None,
    /// The file gets its name before it is stable.
    RenameFirst,
    /// Blocks are not compared with their signed digests.
    NoCheck,
    /// The rest of a short write is forgotten.
    ShortWrite,
    /// The directory is not made stable before the commit is reported.
    NoFolderSync,
}

type Todo = Vec<Submission<NodeTag>>;

/// A node that takes part in one copy.
pub struct NodeDriver {
    flaw: Flaw,
    control: MessageStream<FromAgent, ToAgent>,
    is_connected: bool,
    heard_ns: u64,
    heartbeat_due: u64,
    next_socket: u32,
    /// Links that have not shown the frame that opens them, and those that came before their route.
    strangers: Vec<Upstream>,
    copy: Option<ActiveCopy>,
    is_over: bool,
    todo: Todo,
}

/// The copy that a node takes part in.
struct ActiveCopy {
    begin: Begin,
    blocks: LaneBlocks,
    keys: Keys,
    opener: Arc<Opener>,
    relay: Relay,
    sink: Sink,
    windows: DigestWindows,
    route: Route,
    up: Option<Upstream>,
    buffers: Buffers,
    place: Place,
    is_told: bool,
    has_failed: bool,
}

impl NodeDriver {
    /// Returns a node that waits for a head from `now` on.
    #[must_use]
    pub fn new(now: u64, flaw: Flaw) -> Self {
        let mut node = Self {
            flaw,
            control: MessageStream::default(),
            is_connected: false,
            heard_ns: now,
            heartbeat_due: now,
            next_socket: FIRST_LINK,
            strangers: Vec::new(),
            copy: None,
            is_over: false,
            todo: Vec::new(),
        };
        let accept = Operation::Accept { listener: CONTROL_LISTENER, socket: CONTROL };
        node.submit(NodeTag::Controlled, accept);
        node.accept_link();
        node
    }

    fn submit(&mut self, tag: NodeTag, call: Operation) {
        self.todo.push(Submission { tag, call });
    }

    fn accept_link(&mut self) {
        let socket = SocketId(self.next_socket);
        self.next_socket += 1;
        self.submit(NodeTag::Linked(socket), Operation::Accept { listener: DATA_LISTENER, socket });
    }

    fn complete(&mut self, now: u64, tag: NodeTag, output: Output) {
        match (tag, output) {
            (NodeTag::Controlled, Output::Done(Ok(()))) => {
                (self.is_connected, self.heard_ns) = (true, now);
            }
            (NodeTag::Controlled, Output::Done(Err(_))) => self.is_over = true,
            (NodeTag::ControlOut, Output::Moved(piece, Ok(_))) => self.control.sent(piece),
            (NodeTag::ControlIn, Output::Moved(piece, Ok(1..))) => {
                self.heard_ns = now;
                self.control.received(piece);
                self.take_messages();
            }
            (NodeTag::ControlOut | NodeTag::ControlIn, Output::Moved(..)) => self.control_lost(),
            (NodeTag::Linked(socket), Output::Done(result)) => {
                if result.is_ok() {
                    self.strangers.push(Upstream::new(socket));
                    self.accept_link();
                }
            }
            (NodeTag::LinkIn(socket), Output::Moved(piece, result)) => {
                self.link_in(socket, piece, result);
            }
            (NodeTag::LinkOut(socket), Output::Moved(piece, result)) => {
                let Some(copy) = &mut self.copy else { return };
                let Some(up) = copy.up.as_mut().filter(|up| up.socket() == socket) else { return };
                up.sent(piece);
                if let Err(error) = result {
                    copy.lose_up(error.to_string(), &mut self.todo);
                }
            }
            (NodeTag::Written(index), Output::Worked(work, result)) => {
                self.written(index, work, result);
            }
            (NodeTag::Placed(step), Output::Done(result)) => self.placed(step, result),
            (tag, output) => unreachable!("{output:?} does not belong to {tag:?}"),
        }
    }

    fn take_messages(&mut self) {
        loop {
            match self.control.message() {
                Ok(None) => return,
                Ok(Some(message)) => self.take_message(message),
                Err(_) => return self.control_lost(),
            }
        }
    }

    fn take_message(&mut self, message: ToAgent) {
        match (message, &mut self.copy) {
            (ToAgent::Begin(begin), None) => {
                if let Err(reason) = begin.check() {
                    return self.control.push(&FromAgent::Failed(begin.copy, reason));
                }
                let copy = ActiveCopy::new(*begin, self.flaw);
                let open = copy.place.open();
                self.copy = Some(copy);
                self.submit(NodeTag::Placed(Step::Open), open);
            }
            (ToAgent::Route(of, route), Some(copy)) if of == copy.begin.copy => {
                copy.route = route.clone();
                copy.relay.handle(RelayEvent::Route(route), &mut copy.sink);
            }
            (ToAgent::Commit(of, root), Some(copy)) if of == copy.begin.copy => {
                if copy.sink.root() != Some(root) {
                    return self.fail("the head commits to other bytes".to_owned());
                }
                let call = copy.place.commit();
                self.todo.extend(
                    call.map(|(step, call)| Submission { tag: NodeTag::Placed(step), call }),
                );
            }
            (ToAgent::Close(_), _) => self.close(),
            _ => {}
        }
    }

    fn control_lost(&mut self) {
        if std::mem::take(&mut self.is_connected) {
            self.submit(NodeTag::ControlIn, Operation::Close(CONTROL));
            self.close();
        }
    }

    /// Ends the copy: removes the file, unless it was ordered to get its name.
    fn close(&mut self) {
        let Some(copy) = &mut self.copy else {
            self.is_over = true;
            return;
        };
        copy.has_failed |= !copy.place.is_committing();
        if let Some(up) = copy.up.take() {
            self.todo.push(up.close());
        }
        let call = copy.place.withdraw();
        self.is_over |= copy.place.is_over();
        self.todo.extend(call.map(|(step, call)| Submission { tag: NodeTag::Placed(step), call }));
    }

    fn fail(&mut self, reason: String) {
        let Some(copy) = &mut self.copy else { return };
        if !std::mem::replace(&mut copy.has_failed, true) {
            self.control.push(&FromAgent::Failed(copy.begin.copy, reason));
        }
    }

    fn placed(&mut self, step: Step, result: io::Result<()>) {
        let Some(copy) = &mut self.copy else { return };
        let id = copy.begin.copy;
        let failed = result.as_ref().is_err() && step != Step::Remove;
        let call = copy.place.done(step, result.is_ok());
        if let Err(error) = result
            && failed
        {
            self.fail(format!("cannot {step}: {error}"));
        } else if step == Step::Open {
            self.control.push(&FromAgent::Ready(id));
        } else if copy.place.is_committed() {
            self.control.push(&FromAgent::Committed(id, Box::new(copy.report())));
        }
        let over = self.copy.as_ref().is_some_and(|copy| copy.place.is_over());
        self.is_over |= over && (!self.is_connected || step == Step::Remove);
        self.todo.extend(call.map(|(step, call)| Submission { tag: NodeTag::Placed(step), call }));
    }

    fn link_in(&mut self, socket: SocketId, piece: Piece, result: io::Result<usize>) {
        let reason = match result {
            Ok(1..) => None,
            Ok(0) => Some("the upstream closed the link".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(at) = self.strangers.iter().position(|up| up.socket() == socket) {
            return self.greet(at, piece, reason);
        }
        let Some(copy) = &mut self.copy else { return };
        let Some(up) = copy.up.as_mut().filter(|up| up.socket() == socket) else {
            return copy.buffers.give(piece.buffer);
        };
        if let Some(reason) = reason {
            copy.buffers.give(piece.buffer);
            copy.lose_up(reason, &mut self.todo);
        } else if !piece.is_done() {
            up.receive(piece);
        } else if let Err(reason) = copy.take_piece(piece, &mut self.control, &mut self.todo) {
            copy.lose_up(reason, &mut self.todo);
        }
    }

    /// Takes the frame that opens a link.
    fn greet(&mut self, at: usize, piece: Piece, reason: Option<String>) {
        let up = &mut self.strangers[at];
        if reason.is_none() && !piece.is_done() {
            return up.receive(piece);
        }
        let header: Option<&[u8; FRAME_LEN]> = piece.buffer.first_chunk();
        let frame = self.copy.as_ref().zip(header.filter(|_| reason.is_none()));
        let frame = frame.and_then(|(copy, header)| Frame::parse(header, &copy.keys).ok());
        match frame.filter(|frame| frame.kind == Kind::Open) {
            Some(frame) => up.opened(frame.epoch),
            None => self.todo.push(self.strangers.swap_remove(at).close()),
        }
    }

    fn written(&mut self, index: u64, work: Work, result: Result<usize, Stop>) {
        let Some(copy) = &mut self.copy else { return };
        let is_short = !work.stages.is_empty() && self.flaw != Flaw::ShortWrite;
        let landing = match result {
            Ok(0) | Err(Stop::Io(_)) if copy.has_failed => return copy.buffers.give(work.buffer),
            Err(Stop::Io(error)) => {
                return self.fail(format!("cannot write block {index}: {error}"));
            }
            Ok(0) => return self.fail(format!("cannot write block {index}: nothing was written")),
            Ok(_) if is_short => {
                return self.submit(NodeTag::Written(index), Operation::Work(work));
            }
            Ok(_) => Landing::Written,
            Err(Stop::Changed) => Landing::Changed,
        };
        copy.buffers.give(work.buffer);
        copy.relay.handle(RelayEvent::Landed(index, landing), &mut copy.sink);
    }

    fn advance(&mut self, now: u64) {
        let Some(copy) = &mut self.copy else { return };
        if self.is_connected && self.heartbeat_due <= now {
            self.heartbeat_due = now + HEARTBEAT_NS;
            self.control.push(&FromAgent::Heartbeat(Some(Box::new(copy.report()))));
        }
        if copy.has_failed {
            return;
        }
        copy.adopt(&mut self.strangers, &mut self.todo);
        while let Some(order) = copy.relay.poll(&copy.sink) {
            copy.obey(order, &mut self.control, &mut self.todo);
        }
        copy.receive_next();
        if copy.sink.is_complete()
            && !copy.is_told
            && copy.place.is_open()
            && let Some(root) = copy.sink.root()
        {
            copy.is_told = true;
            let report = Box::new(copy.report());
            self.control.push(&FromAgent::Complete(copy.begin.copy, root, report));
        }
    }
}

impl ActiveCopy {
    fn new(begin: Begin, flaw: Flaw) -> Self {
        let blocks = begin.lanes[0];
        let mut relay = Relay::new(blocks, false);
        let mut sink = Sink::new(begin.layout, true);
        let route = begin.routes.first().cloned();
        let route = route.unwrap_or(Route { lane: 0, upstream: None, downstreams: Vec::new() });
        relay.handle(RelayEvent::Route(route.clone()), &mut sink);
        let size = FRAME_LEN + begin.layout.block_size as usize + TAG_LEN;
        Self {
            blocks,
            keys: Keys::new(&begin.secret, begin.copy),
            opener: Arc::new(Opener::new(&begin.secret, begin.copy)),
            windows: DigestWindows::new(begin.copy, 0, &begin.digest_key),
            buffers: Buffers::new(size, usize::from(begin.buffers).max(1)),
            place: Place::new(&begin, flaw),
            relay,
            sink,
            route,
            up: None,
            begin,
            is_told: false,
            has_failed: false,
        }
    }

    fn report(&self) -> Report {
        let lanes = vec![LaneReport { received: self.relay.received(), hop: None }];
        let (held, whole) = (self.sink.held(), self.sink.whole());
        Report { lanes, holder: true, held, whole, ..Report::default() }
    }

    fn event(&mut self, event: RelayEvent) {
        self.relay.handle(event, &mut self.sink);
    }

    /// Takes the link that the route names, and closes older ones.
    fn adopt(&mut self, strangers: &mut Vec<Upstream>, todo: &mut Todo) {
        let wanted = self.route.epoch_up();
        let is_old = |up: &mut Upstream| up.epoch().is_some_and(|epoch| Some(epoch) < wanted);
        todo.extend(strangers.extract_if(.., is_old).map(Upstream::close));
        let at = strangers.iter().position(|up| up.epoch().is_some() && up.epoch() == wanted);
        if let Some(at) = at
            && let Some(epoch) = wanted
        {
            let old = self.up.replace(strangers.swap_remove(at));
            todo.extend(old.map(Upstream::close));
            self.event(RelayEvent::UpOpened(epoch));
        }
    }

    fn obey(
        &mut self,
        order: RelayOrder,
        control: &mut MessageStream<FromAgent, ToAgent>,
        todo: &mut Todo,
    ) {
        let copy = self.begin.copy;
        match order {
            RelayOrder::CloseUp => todo.extend(self.up.take().map(Upstream::close)),
            RelayOrder::SendUp(kind, index) => {
                self.send_up(&Frame::bare(kind, copy, 0, index));
            }
            RelayOrder::SendHave(first, bits) => {
                self.send_up(&Frame { bits, ..Frame::bare(Kind::Have, copy, 0, first) });
            }
            RelayOrder::Receive { store, .. } => {
                if let Some(up) = &mut self.up {
                    up.accept_block(store == Store::No);
                }
            }
            RelayOrder::ReportBad(index) => control.push(&FromAgent::Bad(copy, index)),
            RelayOrder::ReportLost(side, epoch, reason) => {
                control.push(&FromAgent::LinkLost { copy, lane: 0, epoch, side, reason });
            }
            RelayOrder::Fail(error) => {
                self.has_failed = true;
                control.push(&FromAgent::Failed(copy, error.to_string()));
            }
            // This node has no downstream.
            RelayOrder::OpenDown(..)
            | RelayOrder::CloseDown(_)
            | RelayOrder::SendDown(..)
            | RelayOrder::Feed { .. } => {}
        }
    }

    fn send_up(&mut self, frame: &Frame) {
        if let Some(up) = &mut self.up {
            up.send(frame, &self.keys);
        }
    }

    fn lose_up(&mut self, reason: String, todo: &mut Todo) {
        let Some(up) = self.up.take() else { return };
        if up.is_in_block() {
            self.event(RelayEvent::CutOff);
        }
        if let Some(epoch) = up.epoch() {
            self.event(RelayEvent::UpLost(epoch, reason));
        }
        todo.push(up.close());
    }

    /// Receives the next frame if the relay may read it, or the block of the last one if there is a
    /// buffer.
    fn receive_next(&mut self) {
        let may_read = self.relay.may_read(&self.sink) && !self.relay.is_up_over(&self.sink);
        let Some(up) = &mut self.up else { return };
        match up.expected() {
            Expected::Nothing if may_read => up.receive_header(),
            Expected::Block { accepted: true, length, .. } => {
                if let Some(buffer) = self.buffers.take() {
                    up.receive_block(buffer, length);
                }
            }
            _ => {}
        }
    }

    /// Takes a whole frame, window of digests, or block.
    fn take_piece(
        &mut self,
        piece: Piece,
        control: &mut MessageStream<FromAgent, ToAgent>,
        todo: &mut Todo,
    ) -> Result<(), String> {
        let Some(up) = &mut self.up else { return Ok(()) };
        match up.take_expected() {
            Expected::Header => self.take_header(&piece).inspect_err(|_| {
                let (copy, epoch) = (self.begin.copy, self.route.epoch_up().unwrap_or(0));
                let side = LinkSide::Up;
                control.push(&FromAgent::BadFrame { copy, lane: 0, epoch, side });
            }),
            Expected::Digests(first) => {
                let accepted =
                    self.windows.accept(&self.blocks, first, &piece.buffer, &mut self.sink);
                accepted.map_err(|error| format!("the upstream sent {error}"))
            }
            Expected::Block { frame, header, dropped, .. } => {
                let index = frame.index;
                let content = self.sink.content(index);
                self.event(RelayEvent::Received { stored: !dropped });
                let mut buffer = piece.buffer;
                match content.filter(|_| !dropped) {
                    None => self.buffers.give(buffer),
                    Some(content) => {
                        buffer[..FRAME_LEN].copy_from_slice(&header);
                        let stages = self.stages(frame, content);
                        let call = Operation::Work(Work::new(buffer, stages));
                        todo.push(Submission { tag: NodeTag::Written(index), call });
                    }
                }
                Ok(())
            }
            Expected::Nothing => Ok(()),
        }
    }

    fn stages(&self, frame: Frame, content: [u8; 32]) -> Vec<Stage> {
        let range = FRAME_LEN..FRAME_LEN + frame.length as usize;
        let write = Stage::Write(FILE, self.begin.layout.offset(frame.index), range.clone());
        let check = self.place.checks().then(|| Stage::Check(range, content));
        let open = frame.sealed.then(|| Stage::Open(Arc::clone(&self.opener), frame));
        open.into_iter().chain(check).chain([write]).collect()
    }

    fn take_header(&mut self, piece: &Piece) -> Result<(), String> {
        let header: [u8; FRAME_LEN] = piece.buffer[..].try_into().map_err(|_| "a short frame")?;
        let frame = Frame::parse(&header, &self.keys).map_err(|error| error.to_string())?;
        let index = frame.index;
        if frame.copy != self.begin.copy || frame.lane != 0 {
            return Err("the frame belongs to another copy".to_owned());
        }
        match frame.kind {
            Kind::Block => {
                let fits = frame.length == self.begin.layout.block_length(index);
                if !fits || frame.length == 0 || frame.sealed != self.begin.sealed {
                    return Err("the frame does not fit the copy".to_owned());
                }
                let content = self.sink.content(index);
                let content =
                    content.ok_or_else(|| format!("block {index} arrived before its digest"))?;
                if let Some(up) = &mut self.up {
                    up.expect_block(frame, header);
                }
                self.event(RelayEvent::Block(index, content));
            }
            Kind::Digests if frame.length as usize <= WINDOW_BYTES_MAX => {
                if let Some(up) = &mut self.up {
                    up.receive_digests(index, frame.length as usize);
                }
            }
            Kind::Void => self.event(RelayEvent::Void(index)),
            Kind::End => self.event(RelayEvent::End(index)),
            _ => return Err("its upstream sent an unexpected frame".to_owned()),
        }
        Ok(())
    }
}

impl Driver for NodeDriver {
    type Tag = NodeTag;

    fn step(&mut self, now: u64, done: &mut Vec<Completion<NodeTag>>, todo: &mut Todo) -> Wait {
        for Completion { tag, output } in done.drain(..) {
            self.complete(now, tag, output);
        }
        if self.heard_ns + SILENCE_NS <= now {
            // A file may still be on its way out.
            self.is_over |= !self.is_connected && self.copy.is_none();
            self.control_lost();
        }
        self.advance(now);
        if self.is_connected {
            let (send, receive) = self.control.next(CONTROL);
            send.into_iter().for_each(|call| self.submit(NodeTag::ControlOut, call));
            receive.into_iter().for_each(|call| self.submit(NodeTag::ControlIn, call));
        }
        let up = self.copy.iter_mut().filter_map(|copy| copy.up.as_mut());
        for up in up.chain(&mut self.strangers) {
            up.submit(&mut self.todo);
        }
        todo.append(&mut self.todo);
        if self.is_over {
            return Wait::Over;
        }
        let beats = self.is_connected && self.copy.is_some();
        let heartbeat = if beats { self.heartbeat_due } else { u64::MAX };
        let silence = if self.is_connected || self.copy.is_none() {
            self.heard_ns + SILENCE_NS
        } else {
            u64::MAX
        };
        Wait::Until(heartbeat.min(silence))
    }
}
