//! Gets, puts and messages through memory that two agents on one machine share. Gets and puts are
//! one-sided: the initiator loads and stores, and the target's CPU takes no part. Messages are
//! stores for which the other side polls.

use std::hint::black_box;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering, fence};

use garland_protocol::measure::{PingKind, PingTask};
use garland_sys::segment::Segment;
use garland_sys::socket::TcpStream;
use garland_sys::{clock, dumpable, random};

use super::super::SILENCE;
use super::round::{Order, read};
use super::tally::Tally;
use super::transport::ProbeTransport;
use crate::error::cannot;
use crate::probe::error::ProbeError;
use crate::probe::meeting_state::MeetingState;

/// The maximum memory that two agents share, in bytes.
const MAX_SHARED_BYTES: u64 = 128 << 20;

/// The number of words (8 bytes each) of a cache line.
const LINE: usize = 8;

/// The number of words before those for operations: one cache line, which contains what the
/// initiator has chosen, and by which it recognizes the memory.
const HEAD: usize = LINE;

/// The length in bytes of what the initiator chooses.
const CHALLENGE: usize = 16;

/// The minimum number of words over which gets and puts are spread, so that they do not all use one
/// cache line.
const WALK: usize = (256 << 10) / 8;

/// The approximate size of a group of small operations that are timed together, in bytes.
const GROUP_BYTES: u32 = 64 << 10;

/// The maximum number of operations in a group that is timed together.
const GROUP_MAX: u32 = 256;

/// The number of polls between two readings of the clock.
const POLLS: u32 = 4096;

/// A segment of memory that both agents have mapped.
pub struct Mapped<'a> {
    meeting: &'a MeetingState,
    segment: Segment,
    /// The number of messages in all rounds so far.
    serial: u64,
    copy: Vec<u64>,
}

impl<'a> Mapped<'a> {
    /// Maps one segment on both sides: the target creates it and sends its location.
    pub fn meet(
        meeting: &'a MeetingState,
        task: &PingTask,
        initiates: bool,
        stream: &TcpStream,
    ) -> Result<Self, ProbeError> {
        let needs = task.points.iter().map(|point| {
            let slot = slot_words(point.size) as u64;
            2 * slot * u64::from(point.depth) * 8
        });
        let ring = needs.max().unwrap_or(0);
        if ring > MAX_SHARED_BYTES {
            return Err(format!(
                "too many bytes in flight: {ring}; two agents can share at most {MAX_SHARED_BYTES}"
            )
            .into());
        }
        let words = HEAD + usize::try_from(ring / 8).unwrap_or(0).max(WALK);
        let segment = match initiates {
            true => find(meeting, stream)?,
            false => offer(meeting, words, stream)?,
        };
        if segment.words().len() < words {
            return Err("protocol error: the other agent's shared memory is too small".into());
        }
        Ok(Self { meeting, segment, serial: 0, copy: Vec::new() })
    }

    fn work(&self) -> &[AtomicU64] {
        &self.segment.words()[HEAD..]
    }

    /// Runs gets or puts, in groups that are timed together. Returns the elapsed time in
    /// nanoseconds.
    fn reach(&mut self, order: &Order, tally: &mut Tally) -> Result<u64, ProbeError> {
        let length = words_of(order.size);
        let together = u64::from(self.timed_together(order));
        let depth = u64::from(order.depth);
        let gets = order.kind == Some(PingKind::Get);
        let mut copy = std::mem::take(&mut self.copy);
        copy.resize(length, 1);
        let places = self.work().len() / length.max(1);
        let mut done = 0;
        let mut at = 0;
        let begin = clock::now_ns();
        while done < order.count {
            let group = together.min(order.count - done);
            let start = clock::now_ns();
            for number in 1..=group {
                let words = &self.work()[at * length..][..length];
                if gets {
                    load(words, &mut copy);
                } else {
                    store(words, &copy);
                }
                at = if at + 1 < places { at + 1 } else { 0 };
                // At most `depth` operations may be in flight.
                if number % depth == 0 || number == group {
                    black_box(&copy);
                    fence(Ordering::SeqCst);
                }
            }
            let took = clock::now_ns() - start;
            tally.sojourn.record_many(took * depth.min(group) / group, group);
            tally.work_ns[0] += took;
            done += group;
            if done % (64 * together) < together && self.meeting.is_over() {
                return Err(ProbeError::Over);
            }
        }
        self.copy = copy;
        Ok(clock::now_ns() - begin)
    }

    fn slots(&self, order: &Order, answers: bool) -> Slots<'_> {
        let each = slot_words(order.size);
        let ring = each * order.depth as usize;
        let start = if answers { ring } else { 0 };
        let words = &self.work()[start..start + ring];
        Slots { words, each, length: words_of(order.size), depth: u64::from(order.depth) }
    }

    fn converse(&mut self, order: &Order, tally: &mut Tally) -> Result<u64, ProbeError> {
        let mut copy = std::mem::take(&mut self.copy);
        copy.resize(words_of(order.size), 1);
        let asks = self.slots(order, false);
        let answers = self.slots(order, true);
        let depth = u64::from(order.depth);
        let mut begins = vec![0; order.depth as usize];
        let mut begun = 0_u64;
        let mut waited_ns = 0_u64;
        let start = clock::now_ns();
        let mut now = start;
        for done in 0..order.count {
            while begun < order.count.min(done + depth) {
                let due = order.rate.map(|rate| start + begun * 1_000_000_000 / u64::from(rate));
                if due.is_some_and(|due| due > now) {
                    if begun > done {
                        break;
                    }
                    now = clock::now_ns();
                    continue;
                }
                begins[(begun % depth) as usize] = due.unwrap_or(now);
                asks.put(self.serial + begun, &copy);
                begun += 1;
            }
            let sent = clock::now_ns();
            answers.take(self.serial + done, &mut copy, self.meeting)?;
            now = clock::now_ns();
            waited_ns += now - sent;
            tally.sojourn.record(now.saturating_sub(begins[(done % depth) as usize]));
        }
        tally.work_ns[0] += (now - start).saturating_sub(waited_ns);
        self.serial += order.count;
        self.copy = copy;
        Ok(now - start)
    }
}

impl ProbeTransport for Mapped<'_> {
    fn timed_together(&self, order: &Order) -> u32 {
        match order.kind {
            Some(PingKind::Get | PingKind::Put) => {
                let group = (GROUP_BYTES / order.size.max(1)).clamp(1, GROUP_MAX);
                group.next_multiple_of(order.depth)
            }
            Some(PingKind::Msg) | None => 1,
        }
    }

    fn run(&mut self, order: &Order, tally: &mut Tally) -> Result<u64, ProbeError> {
        match order.kind {
            Some(PingKind::Msg) | None => self.converse(order, tally),
            Some(PingKind::Get | PingKind::Put) => self.reach(order, tally),
        }
    }

    fn serve(&mut self, order: &Order) -> Result<u64, ProbeError> {
        if order.kind != Some(PingKind::Msg) {
            // This side waits in the kernel for the initiator's next order: its CPU takes no part.
            return Ok(0);
        }
        if 2 * slot_words(order.size) * order.depth as usize > self.work().len() {
            return Err("protocol error: the other agent's order exceeds the shared memory".into());
        }
        let mut copy = std::mem::take(&mut self.copy);
        copy.resize(words_of(order.size), 1);
        let asks = self.slots(order, false);
        let answers = self.slots(order, true);
        for number in self.serial..self.serial + order.count {
            asks.take(number, &mut copy, self.meeting)?;
            answers.put(number, &copy);
        }
        self.serial += order.count;
        self.copy = copy;
        // This side polled all the time; how much of it was work is unknown.
        Ok(0)
    }
}

/// A ring of messages. Each follows a word that contains the message's number plus 1.
struct Slots<'a> {
    words: &'a [AtomicU64],
    each: usize,
    length: usize,
    depth: u64,
}

impl Slots<'_> {
    fn slot(&self, number: u64) -> &[AtomicU64] {
        &self.words[(number % self.depth) as usize * self.each..][..=self.length]
    }

    fn put(&self, number: u64, message: &[u64]) {
        let slot = self.slot(number);
        store(&slot[1..], message);
        slot[0].store(number + 1, Ordering::Release);
    }

    /// Waits for message `number`, and copies it to `message`.
    fn take(&self, number: u64, message: &mut [u64], meeting: &MeetingState) -> io::Result<()> {
        let slot = self.slot(number);
        let mut polls = 0_u32;
        let mut deadline_ns = None;
        while slot[0].load(Ordering::Acquire) != number + 1 {
            polls += 1;
            if polls.is_multiple_of(POLLS) {
                let now = clock::now_ns();
                let silence = u64::try_from(SILENCE.as_nanos()).unwrap_or(u64::MAX);
                if now > *deadline_ns.get_or_insert(now + silence) || meeting.is_over() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                // The other side may need this CPU.
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
        load(&slot[1..], message);
        black_box(message);
        Ok(())
    }
}

fn load(words: &[AtomicU64], copy: &mut [u64]) {
    for (to, from) in copy.iter_mut().zip(words) {
        *to = from.load(Ordering::Relaxed);
    }
}

fn store(words: &[AtomicU64], copy: &[u64]) {
    for (to, from) in words.iter().zip(copy) {
        // The number of a message never has this bit.
        to.store(*from | 1 << 63, Ordering::Relaxed);
    }
}

/// Returns the number of words that `size` bytes occupy.
fn words_of(size: u32) -> usize {
    (size as usize).div_ceil(8)
}

/// Returns the number of words for a message and its number, in whole cache lines.
fn slot_words(size: u32) -> usize {
    (1 + words_of(size)).next_multiple_of(LINE)
}

/// Returns the boot ID of the machine, which is equal in all namespaces.
fn machine() -> [u8; 36] {
    let mut id = [0; 36];
    let text = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let length = text.len().min(id.len());
    id[..length].copy_from_slice(&text[..length]);
    id
}

/// Returns what the initiator has chosen, in words.
fn words_in(challenge: &[u8; CHALLENGE]) -> impl Iterator<Item = u64> {
    challenge
        .chunks_exact(8)
        .map(|chunk| chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)))
}

fn offer(
    meeting: &MeetingState,
    words: usize,
    mut stream: &TcpStream,
) -> Result<Segment, ProbeError> {
    let segment = Segment::new(words).map_err(cannot("create shared memory"))?;
    let mut bytes = machine().to_vec();
    bytes.extend(Segment::owner().map_err(cannot("read /proc"))?.to_le_bytes());
    bytes.extend(segment.number().to_le_bytes());
    // Keep the segment, and let the initiator open it, until it has mapped it or failed to.
    let _shown = dumpable::show();
    stream.write_all(&bytes)?;
    let mut challenge = [0; CHALLENGE];
    read(meeting, stream, &mut challenge)?;
    for (word, chosen) in segment.words().iter().zip(words_in(&challenge)) {
        word.store(chosen, Ordering::Release);
    }
    stream.write_all(&[1])?;
    Ok(segment)
}

fn find(meeting: &MeetingState, mut stream: &TcpStream) -> Result<Segment, ProbeError> {
    let mut bytes = [0; 36 + 4 + 4];
    read(meeting, stream, &mut bytes)?;
    if bytes[..36] != machine() {
        return Err("shared memory works only between agents on one machine; \
                    use --transport tcp, or nodes such as local[1-2]"
            .into());
    }
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or([0; 4]));
    let segment = Segment::of_process(number(36), number(40))
        .map_err(cannot("open the other agent's memory (both agents must run as the same user)"))?;
    // Whoever has not that memory cannot store this there: it may be another process's.
    let challenge: [u8; CHALLENGE] = random::bytes();
    stream.write_all(&challenge)?;
    read(meeting, stream, &mut [0; 1])?;
    let mut stored = segment.words().iter().map(|word| word.load(Ordering::Acquire));
    if words_in(&challenge).any(|chosen| stored.next() != Some(chosen)) {
        return Err("cannot find the other agent's memory: the agents are in different process \
                    namespaces"
            .into());
    }
    Ok(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_message_and_its_number_share_a_cache_line() {
        assert_eq!((slot_words(0), slot_words(8), slot_words(56), slot_words(57)), (8, 8, 8, 16));
        assert_eq!((words_of(0), words_of(1), words_of(8), words_of(9)), (0, 1, 1, 2));
    }
}
