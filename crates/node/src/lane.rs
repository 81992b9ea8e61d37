//! A lane's thread: obeys its relay machine with real sockets.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use garland_core::plan::LaneBlocks;
use garland_core::proto::{
    FRAME_LEN, Frame, Kind, Landing, LinkSide, Relay, RelayEvent, RelayOrder, Store, TAG_LEN,
};
use garland_core::trace::Stage;
use garland_sys::event;

use crate::conduit::{Conduit, Path};
use crate::feed::Feeder;
use crate::link::{self, Hop, LinkError, break_reason};
use crate::member::{LaneHandle, Mail, Member, Notice};
use crate::parking::Parking;
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

    fn open(&mut self, side: LinkSide, epoch: u32, stream: TcpStream) {
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

    /// Connects to a neighbour from a thread of its own: the lane may be told of another one
    /// meanwhile.
    fn dial(&self, side: LinkSide, epoch: u32, address: SocketAddr) {
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

    fn send(&mut self, side: LinkSide, kind: Kind, index: u64) -> io::Result<()> {
        let link = match side {
            LinkSide::Up => &self.up,
            LinkSide::Down => &self.down,
        };
        let Some((_, stream)) = link else { return Ok(()) };
        let frame = Frame::bare(kind, self.member.copy, self.number, index);
        let mut stream: &TcpStream = stream;
        stream.write_all(&frame.to_bytes(&self.member.keys))
    }

    fn after_up(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.lose_up(break_reason(&error));
        }
    }

    fn after_down(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.lose_down(break_reason(&error));
        }
    }

    /// The link on this side is no more; what the kernel knew of it is noted.
    fn forget(&self, side: LinkSide) {
        self.member.trace.sample_link(self.number, &self.handle, side);
        self.handle.note(side, None);
    }

    fn lose_up(&mut self, reason: String) {
        self.forget(LinkSide::Up);
        if let Some((epoch, _)) = self.up.take() {
            self.handle(RelayEvent::UpLost(epoch, reason));
        }
    }

    fn lose_down(&mut self, reason: String) {
        self.forget(LinkSide::Down);
        if let Some((epoch, _)) = self.down.take() {
            self.handle(RelayEvent::DownLost(epoch, reason));
        }
    }

    fn feed(&mut self, index: u64, incarnation: u32) {
        self.member.faults.before_sending(self.member.layout.block_length(index) as usize);
        match self.feeder.prepare(index, incarnation, self.passage.recorder()) {
            Ok(prepared) => {
                let began = self.passage.begin();
                let sent = match &self.down {
                    Some((_, stream)) => {
                        write_block(stream, &prepared.header, &prepared.buffer[..prepared.length])
                    }
                    None => Ok(()),
                };
                self.passage.fed(began, index, prepared.length);
                self.feeder.recycle(prepared.buffer);
                self.after_down(sent);
                self.handle(RelayEvent::Fed);
                if self.member.is_source {
                    self.handle.received.fetch_add(1, Ordering::Relaxed);
                    self.member.tell_if_complete();
                }
            }
            Err(error) => {
                self.member.tell(Notice::Failed(error.to_string()));
                self.lose_down("there is nothing more to feed".to_owned());
                self.handle(RelayEvent::Fed);
            }
        }
    }

    fn receive(&mut self, store: Store, forward: bool) {
        let Some((frame, header)) = self.header.take() else { return };
        let length = frame.length as usize + if frame.sealed { TAG_LEN } else { 0 };
        let waits = self.passage.now();
        let mut buffer = match store {
            Store::No => None,
            Store::IfRoom => self.member.pool.try_take(),
            Store::Yes => self.member.pool.take(),
        };
        self.passage.waited(Stage::WaitBuffer, waits);
        let Some((_, up)) = &self.up else { return };
        let down = self.down.as_ref().filter(|_| forward).map(|(_, stream)| stream);
        let began = self.passage.begin();
        let mut down_error = down.and_then(|mut down| down.write_all(&header).err());
        let onward = down.filter(|_| down_error.is_none());
        let keep = buffer.as_mut().map(|buffer| &mut buffer[..length]);
        let moved = self.conduit.transfer(up, onward, keep, length, &mut self.passage);
        self.passage.passed(began, frame.index, length, onward.is_some());
        down_error = down_error.or(moved.down_error);
        if let Some(error) = down_error {
            self.lose_down(break_reason(&error));
        }
        if let Some(error) = moved.up_error {
            buffer.into_iter().for_each(|buffer| self.member.pool.give(buffer));
            self.handle(RelayEvent::CutOff);
            self.lose_up(break_reason(&error));
            return;
        }
        let stored = buffer.is_some();
        self.handle(RelayEvent::Received { stored });
        self.member.tell_first();
        self.handle.received.store(self.relay.received(), Ordering::Relaxed);
        if let (Some(buffer), Some(writer)) = (buffer, &self.writer) {
            self.member.stages.write.enter();
            // A writer that ended has told why.
            let _ = writer.send(Arrived { frame, header, buffer, length });
        }
    }

    /// Waits for a letter, a frame from upstream if one may be read, or what the downstream asks;
    /// while there is `more` to feed, only looks whether it has asked.
    fn wait(&mut self, more: bool) -> io::Result<()> {
        let (may_read, held, up_over) = {
            let sink = self.member.sink();
            let may_read = !more && self.relay.may_read(&sink);
            (may_read, !more && self.relay.is_held(&sink), self.relay.is_up_over(&sink))
        };
        let at_rest = !more
            && (self.up.is_none() || up_over)
            && (self.down.is_none() || self.relay.is_down_over());
        self.handle.at_rest.store(at_rest, Ordering::SeqCst);
        let up = self.up.as_ref().filter(|_| may_read).map(|(_, stream)| stream.as_fd());
        let down = self.down.as_ref().map(|(_, stream)| stream.as_fd());
        let fds: Vec<_> = std::iter::once(self.handle.wake.as_fd()).chain(up).chain(down).collect();
        let (has_up, has_down) = (up.is_some(), down.is_some());
        let awaited = self.awaited(has_up && !up_over, held);
        let began = self.passage.now();
        // Waiting for the node's own stream is waiting for its writer, as waiting for a buffer is.
        let since = held.then(|| self.member.pool.begin_waiting());
        let ready = event::wait_readable(&fds, more.then_some(Duration::ZERO));
        since.into_iter().for_each(|since| self.member.pool.end_waiting(since));
        if let (Some(stage), false) = (awaited, more || at_rest) {
            self.passage.waited(stage, began);
        }
        self.handle.at_rest.store(false, Ordering::SeqCst);
        let ready = ready?;
        if self.member.is_closing() {
            return Ok(());
        }
        if has_down && ready.last() == Some(&true) {
            self.read_down();
        }
        if has_up && ready[1] {
            match self.member.parking.clone() {
                Some(parking) if up_over => self.give_up_to_the_next(&parking),
                _ => self.read_up(),
            }
        }
        Ok(())
    }

    /// What the lane lacks while it waits: a buffer, its upstream or the upstream's next block, its
    /// downstream, or leave to send what it has.
    fn awaited(&self, reads: bool, held: bool) -> Option<Stage> {
        if held {
            Some(Stage::WaitBuffer)
        } else if reads || (self.up.is_none() && self.expected[0].is_some()) {
            Some(Stage::WaitUpstream)
        } else if self.down.is_none() && self.expected[1].is_some() {
            Some(Stage::WaitDownstream)
        } else if self.member.is_source && self.down.is_some() {
            Some(Stage::Control)
        } else {
            None
        }
    }

    /// What comes from upstream when all of this copy has come is the next copy's greeting: the
    /// upstream has heard sooner that this one is over. A link that has ended is lost as ever.
    fn give_up_to_the_next(&mut self, parking: &Parking) {
        let speaks = |stream: &TcpStream| matches!(stream.peek(&mut [0]), Ok(1));
        if self.up.as_ref().is_some_and(|(_, stream)| speaks(stream)) {
            self.forget(LinkSide::Up);
            self.up.take().into_iter().for_each(|(_, stream)| parking.park(stream, None));
        } else {
            self.read_up();
        }
    }

    fn park(&mut self, parking: &Parking) {
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

    fn read_down(&mut self) {
        let Some((_, stream)) = &self.down else { return };
        match link::read_frame(stream, &self.member.keys) {
            Ok((frame, _)) => self.handle(RelayEvent::Asked(frame.kind, frame.index)),
            Err(error) => {
                self.tell_if_changed(LinkSide::Down, &error);
                self.lose_down(error.to_string());
            }
        }
    }

    fn read_up(&mut self) {
        let Some((_, stream)) = &self.up else { return };
        match link::read_frame(stream, &self.member.keys) {
            Ok((frame, header)) => self.take_frame(frame, header),
            Err(error) => {
                self.tell_if_changed(LinkSide::Up, &error);
                self.lose_up(error.to_string());
            }
        }
    }

    /// Tells of a frame that isn't what was sent. Told before the link's loss: the head forgets
    /// links that were replaced.
    fn tell_if_changed(&self, side: LinkSide, error: &LinkError) {
        let link = match side {
            LinkSide::Up => &self.up,
            LinkSide::Down => &self.down,
        };
        if let (LinkError::Frame(_), Some((epoch, _))) = (error, link) {
            self.member.tell(Notice::BadFrame(self.number, *epoch, side));
        }
    }

    fn take_frame(&mut self, frame: Frame, header: [u8; FRAME_LEN]) {
        let ours = frame.copy == self.member.copy && frame.lane == self.number;
        let (index, content) = (frame.index, frame.content);
        match frame.kind {
            Kind::Block if ours && self.fits(&frame) => {
                self.header = Some((frame, header));
                self.handle(RelayEvent::Block(index, content));
            }
            Kind::Void if ours => self.handle(RelayEvent::Void(index)),
            Kind::End if ours => self.handle(RelayEvent::End),
            _ => self.lose_up("its upstream sent a frame that doesn't belong here".to_owned()),
        }
    }

    /// Whether a block is one of this lane, of the right length and kind.
    fn fits(&self, frame: &Frame) -> bool {
        let length = self.member.layout.block_length(frame.index);
        let known = self.blocks.ordinal(frame.index).is_some();
        known && frame.length == length && length > 0 && frame.sealed == self.member.sealed
    }
}

/// Sends a header and its block; gathered into one call where the socket takes it.
fn write_block(mut stream: &TcpStream, header: &[u8], block: &[u8]) -> io::Result<()> {
    let slices = [io::IoSlice::new(header), io::IoSlice::new(block)];
    let sent = loop {
        match stream.write_vectored(&slices) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result?,
        }
    };
    if sent < header.len() {
        stream.write_all(&header[sent..])?;
        return stream.write_all(block);
    }
    stream.write_all(&block[sent - header.len()..])
}
