//! The messages of a control session, which outlives its connections. Each side keeps what the
//! other one has not acknowledged, and sends it again over the next connection; numbers show what
//! has arrived before.
//!
//! A frame consists of the number of its message (8 bytes, little endian, from 1; 0 for a frame
//! without a message), the number of messages of the other side that have arrived (8 bytes), and
//! the message.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The length of a frame's numbers in bytes.
const NUMBERS: usize = 16;

/// The number of received messages after which an acknowledgement is due.
const TOLD_AFTER: u64 = 64;

/// The number of received bytes after which an acknowledgement is due. An agent keeps what was not
/// acknowledged, and leaves little room for each of many members.
const TOLD_AFTER_BYTES: usize = 32 << 10;

/// What a message that is kept costs beside its bytes: its place in the list, and its allocation.
const KEPT_MESSAGE_COST: usize = 64;

/// The identity of a control session; the head chooses it at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionId(pub [u8; 16]);

/// An order about a session and its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionOrder {
    /// Begin a session. The first message, in the greeting of its first connection.
    Open(SessionId),
    /// Continue a session over this connection, in whose greeting this message is sent. So many of
    /// the agent's messages have arrived; if none has, the session may begin here.
    Resume(SessionId, u64),
    /// If the session's connection breaks, wait this number of milliseconds for another one.
    Await(u32),
    /// Send a heartbeat at this interval, in milliseconds.
    Beat(u32),
    /// The session is over.
    Leave,
}

/// The messages of one side of a session: those sent and not acknowledged, and the number of those
/// received.
#[derive(Debug, Default)]
pub struct Delivery {
    /// The messages that the other side has not acknowledged, the oldest first.
    kept: VecDeque<Vec<u8>>,
    /// The memory of `kept` in bytes.
    kept_bytes: usize,
    /// The number of messages that the other side has acknowledged.
    acknowledged: u64,
    /// The number of messages that have arrived.
    received: u64,
    /// What of `received` the other side was told, and the bytes that have arrived since.
    told: u64,
    untold_bytes: usize,
}

/// What a frame contains.
#[derive(Debug, PartialEq, Eq)]
pub enum Delivered<'a> {
    /// The next message.
    Message(&'a [u8]),
    /// No message, or one that has arrived before.
    Nothing,
}

/// The frame is not one that follows those before, or acknowledges what was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfOrder;

impl Delivery {
    /// The most memory in bytes that messages take which have arrived, and whose acknowledgement is
    /// not due yet.
    pub const UNTOLD_MAX: usize = TOLD_AFTER_BYTES + TOLD_AFTER as usize * KEPT_MESSAGE_COST;

    /// Keeps a message, and returns its frame.
    pub fn send(&mut self, message: Vec<u8>) -> Vec<u8> {
        self.kept_bytes += Self::kept_bytes_of(&message);
        self.kept.push_back(message);
        self.frame(self.kept.len() - 1)
    }

    /// Returns a frame without a message, if the other side has to be told that messages arrived.
    pub fn acknowledge(&mut self) -> Option<Vec<u8>> {
        let untold = self.received - self.told;
        let is_due = untold >= TOLD_AFTER || self.untold_bytes >= TOLD_AFTER_BYTES;
        is_due.then(|| self.numbered(0, &[]))
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// When the frame is not one that can follow.
    pub fn receive<'a>(&mut self, frame: &'a [u8]) -> Result<Delivered<'a>, OutOfOrder> {
        let (number, rest) = frame.split_first_chunk().ok_or(OutOfOrder)?;
        let (arrived, message) = rest.split_first_chunk().ok_or(OutOfOrder)?;
        let number = u64::from_le_bytes(*number);
        self.settle(u64::from_le_bytes(*arrived))?;
        if number <= self.received {
            return Ok(Delivered::Nothing);
        }
        if number != self.received + 1 {
            return Err(OutOfOrder);
        }
        self.received = number;
        self.untold_bytes += message.len();
        Ok(Delivered::Message(message))
    }

    /// Returns the number of messages that have arrived.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the memory in bytes of the messages that the other side has not acknowledged.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Returns the memory in bytes of a message that is kept. Many short messages take much more
    /// than their bytes.
    #[must_use]
    pub fn kept_bytes_of(message: &[u8]) -> usize {
        KEPT_MESSAGE_COST + message.len()
    }

    /// Returns the frames to send over a new connection to a side at which `arrived` messages have
    /// arrived.
    ///
    /// # Errors
    /// When more messages are said to have arrived than were sent.
    pub fn resume(&mut self, arrived: u64) -> Result<Vec<Vec<u8>>, OutOfOrder> {
        self.settle(arrived)?;
        Ok((0..self.kept.len()).map(|at| self.frame(at)).collect())
    }

    /// Forgets the messages that have arrived at the other side.
    fn settle(&mut self, arrived: u64) -> Result<(), OutOfOrder> {
        let newly = usize::try_from(arrived.saturating_sub(self.acknowledged));
        let newly = newly.ok().filter(|newly| *newly <= self.kept.len()).ok_or(OutOfOrder)?;
        let settled = self.kept.drain(..newly).map(|message| Self::kept_bytes_of(&message));
        self.kept_bytes -= settled.sum::<usize>();
        self.acknowledged += newly as u64;
        Ok(())
    }

    /// Returns the frame of the kept message at this place.
    fn frame(&mut self, at: usize) -> Vec<u8> {
        let message = std::mem::take(&mut self.kept[at]);
        let frame = self.numbered(self.acknowledged + at as u64 + 1, &message);
        self.kept[at] = message;
        frame
    }

    fn numbered(&mut self, number: u64, message: &[u8]) -> Vec<u8> {
        (self.told, self.untold_bytes) = (self.received, 0);
        let mut frame = Vec::with_capacity(NUMBERS + message.len());
        frame.extend(number.to_le_bytes());
        frame.extend(self.received.to_le_bytes());
        frame.extend(message);
        frame
    }
}

#[cfg(test)]
mod tests {
    use garland_core::splitmix::SplitMix;

    use super::*;

    fn message(number: u64) -> Vec<u8> {
        number.to_le_bytes()[..1 + number as usize % 8].to_vec()
    }

    /// One side of a session, and what has arrived at it.
    #[derive(Default)]
    struct Side {
        delivery: Delivery,
        sent: u64,
        arrived: Vec<Vec<u8>>,
        wire: VecDeque<Vec<u8>>,
    }

    fn pass(from: &mut Side, to: &mut Side) {
        let Some(frame) = from.wire.pop_front() else { return };
        if let Delivered::Message(message) = to.delivery.receive(&frame).expect("it is in order") {
            to.arrived.push(message.to_vec());
        }
        to.wire.extend(to.delivery.acknowledge());
    }

    #[test]
    fn every_message_arrives_once_and_in_order_whenever_connections_break() {
        for seed in 0..200 {
            let mut random = SplitMix(seed);
            let [mut one, mut other] = [Side::default(), Side::default()];
            for _ in 0..2000 {
                match random.below(100) {
                    0..=30 => {
                        one.sent += 1;
                        let frame = one.delivery.send(message(one.sent));
                        one.wire.push_back(frame);
                    }
                    31 | 32 => {
                        other.sent += 1;
                        let frame = other.delivery.send(message(other.sent));
                        other.wire.push_back(frame);
                    }
                    33..=70 => pass(&mut one, &mut other),
                    71..=97 => pass(&mut other, &mut one),
                    // The connection breaks: what is under way is lost.
                    _ => {
                        let arrived = [one.delivery.received(), other.delivery.received()];
                        one.wire = one.delivery.resume(arrived[1]).expect("it can").into();
                        other.wire = other.delivery.resume(arrived[0]).expect("it can").into();
                    }
                }
            }
            while !one.wire.is_empty() || !other.wire.is_empty() {
                pass(&mut one, &mut other);
                pass(&mut other, &mut one);
            }
            let all = |sent| (1..=sent).map(message).collect::<Vec<_>>();
            assert_eq!(other.arrived, all(one.sent), "seed {seed}");
            assert_eq!(one.arrived, all(other.sent), "seed {seed}");
            let untold = other.delivery.received - other.delivery.told;
            assert!(one.delivery.kept.len() as u64 <= untold.max(TOLD_AFTER), "seed {seed}");
        }
    }

    #[test]
    fn what_cannot_follow_is_refused() {
        let mut delivery = Delivery::default();
        let frame = |number: u64, arrived: u64| {
            [&number.to_le_bytes()[..], &arrived.to_le_bytes(), b"x"].concat()
        };
        assert_eq!(delivery.receive(&frame(2, 0)), Err(OutOfOrder), "the first is missing");
        assert_eq!(delivery.receive(&frame(1, 1)), Err(OutOfOrder), "nothing was sent");
        assert_eq!(delivery.receive(&[0; 15]), Err(OutOfOrder));
        assert_eq!(delivery.receive(&frame(1, 0)), Ok(Delivered::Message(b"x")));
        assert_eq!(delivery.receive(&frame(1, 0)), Ok(Delivered::Nothing), "it came before");
        assert_eq!(delivery.resume(1), Err(OutOfOrder));
        let _ = delivery.send(b"abc".to_vec());
        assert_eq!(
            (delivery.kept_bytes(), delivery.resume(1)),
            (KEPT_MESSAGE_COST + 3, Ok(Vec::new()))
        );
        assert_eq!(delivery.kept_bytes(), 0);
    }
}
