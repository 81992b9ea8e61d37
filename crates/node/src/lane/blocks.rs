//! A lane's blocks: fed, received, and passed on while they still arrive.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

use garland_core::proto::{FRAME_LEN, Frame, Kind, RelayEvent, Store, TAG_LEN};
use garland_core::trace::Stage;

use super::Lane;
use crate::link::break_reason;
use crate::member::Notice;
use crate::writer::Arrived;

impl Lane {
    pub(super) fn feed(&mut self, index: u64, incarnation: u32) {
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

    pub(super) fn receive(&mut self, store: Store, forward: bool) {
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

    pub(super) fn take_frame(&mut self, frame: Frame, header: [u8; FRAME_LEN]) {
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
