//! The parts of a tree that a node did not send or could not put in place. A node reports them in
//! as many messages as it may fill; what has no room there is counted.

use serde::{Deserialize, Serialize};

use crate::wire::MAX_MESSAGE;

/// The maximum memory that the reports of one node may take, in bytes.
pub const ABSENCE_MAX: usize = 4 << 20;

/// The memory that the reports of all nodes may take, in bytes. Nodes have equal shares, so that
/// none crowds out the others.
const ABSENCE_ALL_MAX: usize = 16 << 20;

/// The memory that the reports of one node may always take, in bytes.
const ABSENCE_MIN: usize = 16 << 10;

/// The maximum size of the parts in one message, in bytes.
const PARTS_MAX: usize = MAX_MESSAGE / 2;

/// What a part takes beside its path and reason, in bytes.
const PART: usize = 64;

/// A part of a tree that a node did not send or could not put in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// The path (raw bytes): on a source as the user would write it, on a destination relative to
    /// the destination directory.
    pub path: Vec<u8>,
    /// Why this part is absent.
    pub reason: String,
    /// Whether the part should have been copied. If false, it was skipped on purpose, as sockets
    /// and devices are.
    pub missed: bool,
}

/// Parts of a tree that a node did not send or could not put in place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// The number of parts that should have been copied.
    pub missed: u64,
    /// The number of parts that are skipped on purpose.
    pub skipped: u64,
    /// The parts, or as many of them as there is room for; those that should have been copied come
    /// first.
    pub parts: Vec<Absent>,
}

/// The absent parts of a node at the head, which are listed while there is room and counted beyond.
#[derive(Debug, Default)]
pub struct AbsenceList {
    absence: Absence,
    /// The memory of the listed parts in bytes.
    bytes: usize,
}

impl Absent {
    /// Returns the memory that the part takes in a list, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        PART + self.path.len() + self.reason.len()
    }
}

impl Absence {
    /// Returns the bytes that the reports of each of `nodes` nodes may take.
    #[must_use]
    pub fn share_of(nodes: usize) -> usize {
        (ABSENCE_ALL_MAX / nodes.max(1)).clamp(ABSENCE_MIN, ABSENCE_MAX)
    }

    /// Divides the parts into messages, whose counts add up to those of the whole; none if nothing
    /// is absent. At most `room` bytes of parts are listed.
    #[must_use]
    pub fn into_messages(self, room: usize) -> Vec<Self> {
        let Self { mut missed, mut skipped, parts } = self;
        let mut messages = Vec::new();
        let mut message = Self::default();
        let mut listed_bytes = 0;
        let mut message_bytes = 0;
        for part in parts {
            let bytes = part.bytes();
            if bytes > PARTS_MAX {
                continue;
            }
            listed_bytes += bytes;
            if listed_bytes > room {
                break;
            }
            if message_bytes + bytes > PARTS_MAX {
                messages.push(std::mem::take(&mut message));
                message_bytes = 0;
            }
            message_bytes += bytes;
            message.count(part.missed);
            // The last message counts the parts that are not listed.
            let left = if part.missed { &mut missed } else { &mut skipped };
            *left = left.saturating_sub(1);
            message.parts.push(part);
        }
        message.missed += missed;
        message.skipped += skipped;
        messages.extend(Some(message).filter(|last| last.missed > 0 || last.skipped > 0));
        messages
    }

    /// Returns as many of the parts as fit into `room` bytes, and the numbers of all.
    #[must_use]
    pub fn within(self, room: usize) -> Self {
        let mut list = AbsenceList::default();
        list.add(self, room);
        list.absence
    }

    /// Adds the counts and the parts of `other`.
    pub fn add(&mut self, other: Self) {
        self.missed = self.missed.saturating_add(other.missed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.parts.extend(other.parts);
    }

    /// Returns the absence with `NODE:` before each path, where `node` is the node's name.
    #[must_use]
    pub fn on_node(self, node: &str) -> Self {
        let named = |part: Absent| Absent {
            path: [node.as_bytes(), b":", part.path.as_slice()].concat(),
            ..part
        };
        Self { parts: self.parts.into_iter().map(named).collect(), ..self }
    }

    fn count(&mut self, is_missed: bool) {
        let counted = if is_missed { &mut self.missed } else { &mut self.skipped };
        *counted += 1;
    }
}

impl AbsenceList {
    /// Adds the parts of a message, as many as fit into `room` bytes together with those before. A
    /// node that lists parts without counting them has them counted.
    pub fn add(&mut self, message: Absence, room: usize) {
        let Absence { missed, skipped, parts } = message;
        let listed_missed = parts.iter().filter(|part| part.missed).count() as u64;
        let listed_skipped = parts.len() as u64 - listed_missed;
        let own = &mut self.absence;
        own.missed = own.missed.saturating_add(missed.max(listed_missed));
        own.skipped = own.skipped.saturating_add(skipped.max(listed_skipped));
        for part in parts {
            let bytes = self.bytes.saturating_add(part.bytes());
            if bytes > room {
                // Parts that follow would leave a gap.
                self.bytes = room;
                break;
            }
            self.bytes = bytes;
            own.parts.push(part);
        }
    }

    /// Returns all that is known.
    #[must_use]
    pub fn absence(&self) -> &Absence {
        &self.absence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::CopyId;
    use crate::{FromAgent, Message};

    fn part(number: usize) -> Absent {
        let path = format!("d/{number:04}").into_bytes();
        Absent { path, reason: "permission denied".to_owned(), missed: number < 900 }
    }

    fn thousand() -> Absence {
        Absence { missed: 900, skipped: 100, parts: (0..1000).map(part).collect() }
    }

    #[test]
    fn all_parts_arrive_in_several_messages() {
        let messages = thousand().into_messages(ABSENCE_MAX);
        assert!(messages.len() > 1);
        let mut list = AbsenceList::default();
        for message in messages {
            let bytes = FromAgent::Absent(CopyId([0; 16]), message.clone()).to_bytes();
            assert!(bytes.len() <= MAX_MESSAGE, "{}", bytes.len());
            list.add(message, ABSENCE_MAX);
        }
        assert_eq!(*list.absence(), thousand());
        assert!(Absence::default().into_messages(ABSENCE_MAX).is_empty());
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let room = 10 * part(0).bytes();
        let cut = Absence { parts: (0..10).map(part).collect(), ..thousand() };
        assert_eq!(thousand().into_messages(room), std::slice::from_ref(&cut));
        let mut list = AbsenceList::default();
        thousand().into_messages(ABSENCE_MAX).into_iter().for_each(|part| list.add(part, room));
        assert_eq!(*list.absence(), cut);
        let long = Absent { path: vec![b'x'; MAX_MESSAGE], ..part(0) };
        let one = Absence { missed: 1, skipped: 0, parts: vec![long] };
        let counted = Absence { missed: 1, ..Absence::default() };
        assert_eq!(one.into_messages(ABSENCE_MAX), [counted]);
    }

    #[test]
    fn a_node_that_reports_without_end_takes_its_share_only() {
        let share = Absence::share_of(2000);
        let mut list = AbsenceList::default();
        for _ in 0..100 {
            let lie = Absence { missed: u64::MAX, skipped: 0, parts: thousand().parts };
            list.add(lie, share);
        }
        let absence = list.absence();
        assert_eq!((absence.missed, absence.skipped), (u64::MAX, 10_000));
        assert!(absence.parts.iter().map(Absent::bytes).sum::<usize>() <= share);
        assert!(Absence::share_of(1) == ABSENCE_MAX && 2000 * share <= 32 << 20);
    }

    #[test]
    fn the_reports_of_many_separate_copies_take_no_more_memory_than_those_of_one() {
        let part = |number: usize| Absent {
            path: format!("{number:0>400}").into_bytes(),
            reason: "it cannot be read".to_owned(),
            missed: true,
        };
        for nodes in [4, 64, 1000] {
            let room = crate::copy::Policy::for_nodes(1).beside(nodes).absence_max;
            let parts: Vec<Absent> = (0..5000).map(part).collect();
            let absence = Absence { missed: 6000, skipped: 7, parts }.within(room);
            assert_eq!((absence.missed, absence.skipped), (6000, 7));
            let bytes: usize = absence.parts.iter().map(Absent::bytes).sum();
            assert!(bytes > room / 2 && bytes * nodes <= ABSENCE_ALL_MAX, "{nodes}: {bytes}");
        }
    }
}
