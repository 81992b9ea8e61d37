//! Sends and receives the blocks of a lane, and forwards them while they arrive.

use std::io::{self, Write};
use std::sync::atomic::Ordering;

use garland_core::trace::Stage;
use garland_protocol::copy::{
    DigestError, FRAME_LEN, Frame, Kind, LinkSide, RelayEvent, Store, StreamEnd, TAG_LEN,
};
use garland_sys::clock;
use garland_sys::socket::TcpStream;
use garland_transport::break_reason;

use super::Lane;
use crate::context::{Awaited, LaneCommand, Notice};
use crate::forwarder::{DownstreamWriter, SLICE_MAX};
use crate::pool::Buffer;
use crate::recorder::LaneTracer;
use crate::source::FeedError;
use crate::writer::Arrived;

impl Lane {
    pub(super) fn feed(&mut self, index: u64, incarnation: u64, again: bool, to: &[u32]) {
        self.copy.config.faults.before_sending(self.copy.layout.block_length(index) as usize);
        self.tracer.awaits(Awaited::Disk);
        let asked = self.tracer.begin();
        let recorder = self.tracer.recorder();
        let prepared = self.feeder.prepare(index, incarnation, again, recorder);
        self.tracer.prepared(asked);
        match prepared {
            Ok(prepared) => {
                let is_short = prepared.plain < self.copy.layout.block_size;
                if self.copy.config.is_source && self.copy.layout.open && is_short {
                    self.sign_end(StreamEnd { blocks: index + 1, last_length: prepared.plain });
                }
                self.tracer.awaits(Awaited::Down);
                let began = self.tracer.begin();
                let since = clock::now_ns();
                self.send_digests(index, to);
                let block = &prepared.buffer[..prepared.length];
                let mut writers = self.writers(to);
                send_block(&mut writers, &prepared.header, block, &mut self.tracer);
                let (peers, errors) = outcome(writers);
                self.tracer.fed(began, index, prepared.length, &peers);
                let sending = clock::now_ns().saturating_sub(since);
                let bytes = prepared.length * peers.len();
                self.copy.telemetry.sent_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
                if self.copy.codec.packing.measures() && self.handle.account().is_none() {
                    self.copy.codec.packing.sent(usize::from(self.number), bytes, sending);
                }
                self.feeder.recycle(prepared.buffer);
                self.lose_all(errors);
                self.handle(RelayEvent::Fed(prepared.length as u64));
                if self.copy.config.is_source {
                    self.copy.progress.note_sent(index);
                    self.count_sent(index);
                    self.copy.tell_if_complete();
                }
            }
            Err(FeedError::NotYet) => self.handle(RelayEvent::NotYet),
            Err(FeedError::Gone(..)) => self.handle(RelayEvent::Gone),
            Err(FeedError::Ended(end)) => {
                self.sign_end(end);
                self.handle(RelayEvent::Ended(end.blocks));
                self.copy.tell_if_complete();
            }
            Err(error @ FeedError::Outdated(_)) => {
                let outdated = Notice::Outdated(self.number, to.to_vec(), error.to_string());
                self.copy.tell(outdated);
                self.handle(RelayEvent::Unreadable);
            }
            Err(error) => {
                self.copy.tell(Notice::Failed(error.to_string()));
                self.handle(RelayEvent::Unreadable);
            }
        }
    }

    /// Counts a block that the source has sent, unless it had sent it before: a node that asks for
    /// blocks again makes no progress.
    fn count_sent(&mut self, index: u64) {
        if let Some(place) = self.blocks.ordinal(index).filter(|place| *place >= self.sent_until) {
            self.sent_until = place + 1;
            self.handle.received.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn receive(&mut self, store: Store, forward: &[u32]) {
        let Some((frame, header)) = self.header.take() else { return };
        let length = frame.packed as usize + if frame.sealed { TAG_LEN } else { 0 };
        let waits = self.tracer.awaits(Awaited::Disk);
        let mut buffer = match store {
            Store::No => None,
            Store::IfRoom => self.copy.pool.try_take(),
            Store::Yes => self.await_buffer(),
        };
        self.tracer.waited(Stage::WaitBuffer, waits);
        self.send_digests(frame.index, forward);
        let Some(up) = self.up() else { return };
        self.tracer.awaits(Awaited::Up);
        let began = self.tracer.begin();
        let mut writers = self.writers(forward);
        writers.iter_mut().for_each(|down| down.give(&header));
        let keep = buffer.as_mut().map(|buffer| &mut buffer[..length]);
        let moved =
            self.forwarder.transfer(&up.stream, &mut writers, keep, length, &mut self.tracer);
        let (peers, errors) = outcome(writers);
        self.tracer.passed(began, frame.index, length, &peers);
        self.lose_all(errors);
        if let Err(error) = moved {
            buffer.into_iter().for_each(|buffer| self.copy.pool.give(buffer));
            self.handle(RelayEvent::CutOff);
            self.lose(LinkSide::Up, up.epoch, break_reason(&error));
            return;
        }
        self.copy.codec.packing.received(frame.form);
        let stored = buffer.is_some();
        self.handle(RelayEvent::Received { stored });
        self.copy.tell_first();
        self.handle.received.store(self.relay.received(), Ordering::Relaxed);
        if let (Some(buffer), Some(writer)) = (buffer, &self.writer) {
            self.copy.telemetry.stages.write.enter();
            // A writer that has ended has reported the reason.
            let _ = writer.send(Arrived { frame, header, buffer, length });
        }
    }

    /// Waits for a buffer for a received block. Returns none if the copy is over, or if a command
    /// arrives that detaches this node or sets a new route. A block without a buffer is only
    /// forwarded; this node gets it again later.
    fn await_buffer(&mut self) -> Option<Buffer> {
        let Self { copy, commands, unread, .. } = self;
        let ends = |command: &LaneCommand| {
            matches!(command, LaneCommand::Event(RelayEvent::Detached | RelayEvent::Route(_)))
        };
        copy.pool.take_unless(|| {
            unread.extend(commands.try_iter());
            unread.iter().any(ends)
        })
    }

    /// Returns writers for those open links downstream whose epochs are in `to`.
    fn writers(&self, to: &[u32]) -> Vec<DownstreamWriter> {
        let links = self.handle.links(LinkSide::Down).into_iter();
        let these = links.filter(|link| to.contains(&link.epoch));
        these.map(|link| DownstreamWriter { link, error: None }).collect()
    }

    /// Closes the links downstream that broke. `errors` contains the epoch and the error of each.
    fn lose_all(&mut self, errors: Vec<(u32, io::Error)>) {
        for (epoch, error) in errors {
            self.lose(LinkSide::Down, epoch, break_reason(&error));
        }
    }

    pub(super) fn take_frame(&mut self, frame: Frame, header: [u8; FRAME_LEN]) {
        let ours = frame.copy == self.copy.config.id && frame.lane == self.number;
        let index = frame.index;
        match frame.kind {
            Kind::Block if ours && self.fits(&frame) => {
                let Some(content) = self.copy.progress.sink().content(index) else {
                    return self.lose_up(format!("block {index} arrived before its digest"));
                };
                self.header = Some((frame, header));
                self.handle(RelayEvent::Block(index, content));
            }
            Kind::Digests if ours => self.take_digests(&frame),
            Kind::Void if ours => self.handle(RelayEvent::Void(index)),
            Kind::SourceEnd if ours => self.take_end(&frame),
            Kind::End if ours && !self.may_end_at(index) => {
                self.refuse_digests(DigestError::Forged);
            }
            Kind::End if ours => {
                self.handle(RelayEvent::End(index));
                self.handle.ended.store(true, Ordering::Relaxed);
                // Those who feed on the side of this lane tell it, too.
                self.copy.lanes.wake_side_feeds();
                self.copy.tell_if_complete();
            }
            _ => self.lose_up("its upstream sent an unexpected frame".to_owned()),
        }
    }

    /// Returns whether the source has signed that a stream has this number of blocks. The end of
    /// another source is known from the start.
    fn may_end_at(&self, blocks: u64) -> bool {
        let signed = self.copy.progress.signed_end();
        !self.copy.layout.open || signed.is_some_and(|signed| signed.end.blocks == blocks)
    }

    /// Returns whether a block belongs to this lane, has the right length, and is encrypted if and
    /// only if the copy is.
    fn fits(&self, frame: &Frame) -> bool {
        let known = self.blocks.ordinal(frame.index).is_some();
        let fits = frame.length > 0 && self.copy.progress.takes_length(frame.index, frame.length);
        known && fits && frame.sealed == self.copy.config.sealed
    }
}

/// Returns the indexes in the plan of the nodes that a block was sent to, and the epochs of the
/// links that broke meanwhile, with the errors.
fn outcome(writers: Vec<DownstreamWriter>) -> (Vec<u16>, Vec<(u32, io::Error)>) {
    let peers = writers.iter().map(|down| down.link.peer).collect();
    let broken = writers.into_iter().filter_map(|down| Some((down.link.epoch, down.error?)));
    (peers, broken.collect())
}

/// Sends a header and its block to all of `downs`. A single downstream gets them in as few calls as
/// possible. Several downstreams get the block slice by slice: each slice goes to all of them
/// before the next one.
fn send_block(
    downs: &mut [DownstreamWriter],
    header: &[u8],
    block: &[u8],
    tracer: &mut LaneTracer,
) {
    if let [down] = downs {
        down.error = write_block(&down.link.stream, header, block).err();
        return;
    }
    downs.iter_mut().for_each(|down| down.give(header));
    for slice in block.chunks(SLICE_MAX) {
        let mut now = tracer.now();
        for down in downs.iter_mut() {
            down.give(slice);
            now = tracer.sent(now, down.link.peer, slice.len());
        }
    }
}

/// Sends a header and its block, in one call if the socket accepts that many bytes.
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
