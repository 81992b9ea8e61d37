//! The frames that a delay line holds.

use std::collections::VecDeque;

/// Frames in the order of their arrival, each with the time at which it is due. Reads no clock.
#[derive(Debug)]
pub(super) struct DelayQueue {
    frames: VecDeque<HeldFrame>,
    /// The bytes of all frames.
    bytes: usize,
    /// The maximum of `bytes`.
    room: usize,
    /// The time from arrival to release, in nanoseconds.
    delay_ns: u64,
}

/// A frame that is held.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeldFrame {
    /// The time at which the frame is to be released, in nanoseconds.
    pub(super) due_ns: u64,
    /// The frame, with its header.
    pub(super) bytes: Box<[u8]>,
}

impl DelayQueue {
    /// Creates a queue that holds at most `room` bytes of frames, each for `delay_ns` nanoseconds.
    pub(super) fn new(delay_ns: u64, room: usize) -> Self {
        Self { frames: VecDeque::new(), bytes: 0, room, delay_ns }
    }

    /// Adds a frame that arrived at `arrived_ns`. Returns false if there is no room for it; it is
    /// lost then.
    pub(super) fn add(&mut self, arrived_ns: u64, frame: &[u8]) -> bool {
        if self.bytes + frame.len() > self.room {
            return false;
        }
        // Frames leave in order, also if the clock of their arrivals was set back.
        let before = self.frames.back().map_or(0, |last| last.due_ns);
        let due_ns = arrived_ns.saturating_add(self.delay_ns).max(before);
        self.bytes += frame.len();
        self.frames.push_back(HeldFrame { due_ns, bytes: frame.into() });
        true
    }

    /// Returns the time at which the next frame is due; `None` if the queue is empty.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.frames.front().map(|frame| frame.due_ns)
    }

    /// Takes the next frame if it is due at `now_ns`.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<HeldFrame> {
        if self.next_due()? > now_ns {
            return None;
        }
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.bytes.len();
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(queue: &mut DelayQueue, now_ns: u64) -> Vec<(u64, u8)> {
        let frames = std::iter::from_fn(|| queue.take(now_ns));
        frames.map(|frame| (frame.due_ns, frame.bytes[0])).collect()
    }

    #[test]
    fn frames_leave_in_order_when_their_time_has_passed() {
        let mut queue = DelayQueue::new(100, 1000);
        assert_eq!(queue.next_due(), None);
        assert!(queue.add(5, &[1; 10]) && queue.add(5, &[2; 10]) && queue.add(30, &[3; 10]));
        assert_eq!(queue.next_due(), Some(105));
        assert_eq!(taken(&mut queue, 104), []);
        assert_eq!(taken(&mut queue, 105), [(105, 1), (105, 2)]);
        assert_eq!(taken(&mut queue, 1000), [(130, 3)]);
    }

    #[test]
    fn a_clock_that_is_set_back_reorders_nothing() {
        let mut queue = DelayQueue::new(100, 1000);
        assert!(queue.add(50, &[1]) && queue.add(20, &[2]));
        assert_eq!(taken(&mut queue, 149), []);
        assert_eq!(taken(&mut queue, 150), [(150, 1), (150, 2)]);
    }

    #[test]
    fn what_finds_no_room_is_lost_and_room_comes_back() {
        let mut queue = DelayQueue::new(10, 100);
        assert!(queue.add(0, &[1; 60]));
        assert!(!queue.add(0, &[2; 41]));
        assert!(queue.add(0, &[3; 40]));
        assert!(!queue.add(0, &[4; 1]));
        assert_eq!(taken(&mut queue, 10), [(10, 1), (10, 3)]);
        assert!(queue.add(20, &[5; 100]));
        assert_eq!(taken(&mut queue, u64::MAX), [(30, 5)]);
    }
}
