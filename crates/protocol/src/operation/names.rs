//! Orders about names for content, and what the agents answer.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use garland_core::printable;

use super::query::Query;
use crate::names::RecordKey;
use crate::names::{
    MANIFEST_PIECE_MAX, NAME_MANIFEST_MAX, NAMES_MAX, NAMES_MEMORY_MAX, NameEntry, NameRecord,
    NamesEvent, NamesOrder,
};
use crate::wire::ShownKey;
use crate::{FromAgent, ToAgent};

/// How long an agent may take to answer an order about names: a disk may have to spin up. It may
/// take any time to read files that are published, but not be silent for longer while it reads.
pub const NAMES_PATIENCE: Duration = Duration::from_secs(30);

/// What an agent has answered so far about names.
#[derive(Clone, Debug, Default)]
pub struct NamesAnswer {
    /// The entries of the list by their names, of which the controller has made each record.
    pub entries: BTreeMap<String, NameEntry>,
    /// The record that is valid at the agent after an order to keep one.
    pub kept: Option<NameRecord>,
    /// The path of a file or directory below the agent's root (raw bytes).
    pub path: Vec<u8>,
    /// The bytes of a manifest, at most [`NAME_MANIFEST_MAX`].
    pub manifest: Vec<u8>,
    /// The public key with which the node reads names and contents, not verified yet.
    pub key: Option<ShownKey>,
}

/// What an order asks for. Nothing else is taken from an answer.
#[derive(Clone, Debug)]
enum Wanted {
    /// The entries of all names.
    All,
    /// The entry of this name.
    Entry(String),
    /// The manifest of a name.
    Manifest,
    /// The path of something and its manifest.
    Digests,
    /// The path of something.
    Path,
    /// The record that is valid.
    Record,
    /// The key of the node.
    Key,
    /// Only whether the order was executed.
    End,
}

/// The answer of an agent, which is not trusted: it is bounded, and over with the first error.
#[derive(Debug, Default)]
struct Answering {
    answer: NamesAnswer,
    /// The number of entries that came, with those that are not taken.
    entries: usize,
    /// The number of bytes of memory of the entries that were taken.
    memory: usize,
    is_over: bool,
}

/// The records whose signatures were verified: agents have the same ones.
struct Verified {
    key: Option<RecordKey>,
    known: HashMap<String, NameRecord>,
}

/// Sends `order` to nodes, one for each of `limits`, the times in which they must answer; before
/// it, the pieces of `manifest`, if the order is to keep an entry with it. Records count only if
/// they are signed by `records`; without it, none do.
#[must_use]
pub fn names(
    limits: &[Duration],
    order: &NamesOrder,
    manifest: &[u8],
    records: Option<&RecordKey>,
) -> Query<'static, NamesAnswer> {
    let count = limits.len();
    let pieces = manifest.chunks(MANIFEST_PIECE_MAX);
    let pieces: Vec<_> =
        pieces.map(|piece| ToAgent::Names(NamesOrder::Piece(piece.to_vec(), true))).collect();
    let all = |node| {
        let order = ToAgent::Names(order.clone());
        pieces.clone().into_iter().chain([order]).map(move |order| (node, order))
    };
    let orders: Vec<_> = (0..count).flat_map(all).collect();
    let seconds = NAMES_PATIENCE.as_secs();
    let reads = matches!(order, NamesOrder::Digest(_));
    let late = match reads {
        true => format!("it has read nothing for {seconds} s"),
        false => format!("its answers about names took more than {seconds} s"),
    };
    let wanted = Wanted::from(order);
    let mut verified = Verified { key: records.copied(), known: HashMap::new() };
    let mut answers: Vec<Answering> = (0..count).map(|_| Answering::default()).collect();
    let query = Query::new(orders, Some((NAMES_PATIENCE, late)), move |node, message| {
        let (FromAgent::Names(event), Some(answering)) = (message, answers.get_mut(node)) else {
            return None;
        };
        answering.take(event, &wanted, &mut verified)
    });
    let query = query.with_limits(limits);
    if reads { query.limiting_silence(is_of_reading) } else { query }
}

/// Returns whether a message shows that an agent reads files to publish them, or tells what it has
/// read.
fn is_of_reading(message: &FromAgent) -> bool {
    let FromAgent::Names(event) = message else { return false };
    matches!(event, NamesEvent::Reading | NamesEvent::Path(_) | NamesEvent::Piece(..))
}

impl From<&NamesOrder> for Wanted {
    fn from(order: &NamesOrder) -> Self {
        match order {
            NamesOrder::Find(None) => Self::All,
            NamesOrder::Find(Some(name)) | NamesOrder::Fetch(name, ..) => Self::Entry(name.clone()),
            NamesOrder::Manifest(_) => Self::Manifest,
            NamesOrder::Digest(_) => Self::Digests,
            NamesOrder::Locate { .. } => Self::Path,
            NamesOrder::Keep(..) => Self::Record,
            NamesOrder::MemberKey { .. } => Self::Key,
            NamesOrder::Piece(..)
            | NamesOrder::Members
            | NamesOrder::Register { .. }
            | NamesOrder::Hold(..) => Self::End,
        }
    }
}

impl Answering {
    /// Takes an event of the agent. Returns its answer when that is complete or an error; what
    /// comes later costs nothing.
    fn take(
        &mut self,
        event: NamesEvent,
        wanted: &Wanted,
        verified: &mut Verified,
    ) -> Option<Result<NamesAnswer, String>> {
        if self.is_over {
            return None;
        }
        let is_last = match event {
            NamesEvent::Entry(entry) => self.entry(*entry, wanted, verified).map(|()| false),
            NamesEvent::Path(path) if matches!(wanted, Wanted::Digests | Wanted::Path) => {
                self.answer.path = path;
                Ok(matches!(wanted, Wanted::Path))
            }
            NamesEvent::Piece(piece, more)
                if matches!(wanted, Wanted::Digests | Wanted::Manifest) =>
            {
                self.piece(&piece).map(|()| !more)
            }
            NamesEvent::Kept(record) if matches!(wanted, Wanted::Record) => {
                self.answer.kept = verified.has_made(&record).then_some(*record);
                Ok(true)
            }
            NamesEvent::Key(key) if matches!(wanted, Wanted::Key) => {
                self.answer.key = Some(key);
                Ok(false)
            }
            NamesEvent::Reading if matches!(wanted, Wanted::Digests) => Ok(false),
            // An agent's reason is shown among this program's own lines.
            NamesEvent::End(result) => {
                result.map(|()| true).map_err(|reason| printable::line(&reason))
            }
            NamesEvent::Path(_)
            | NamesEvent::Piece(..)
            | NamesEvent::Reading
            | NamesEvent::Kept(_)
            | NamesEvent::Key(_) => Err("its answer is one to another order".to_owned()),
        };
        let answer = match is_last {
            Ok(false) => return None,
            Ok(true) => Ok(std::mem::take(&mut self.answer)),
            Err(reason) => Err(reason),
        };
        *self = Self { is_over: true, ..Self::default() };
        Some(answer)
    }

    fn entry(
        &mut self,
        entry: NameEntry,
        wanted: &Wanted,
        verified: &mut Verified,
    ) -> Result<(), String> {
        let limit = match wanted {
            Wanted::All => NAMES_MAX,
            Wanted::Entry(_) => 1,
            _ => 0,
        };
        self.entries += 1;
        if self.entries > limit {
            return Err(format!("its list has more than {limit} names"));
        }
        // What others have made, such as an earlier key of the controller, counts for nothing.
        if entry.check().is_err() || !verified.has_made(&entry.record) {
            return Ok(());
        }
        let name = entry.record.name();
        if matches!(wanted, Wanted::Entry(asked) if asked != name) {
            return Err(format!("it told of {name} instead of another name"));
        }
        self.memory += entry.memory();
        if self.memory > NAMES_MEMORY_MAX {
            return Err(format!("its list takes more than {} MiB", NAMES_MEMORY_MAX >> 20));
        }
        match self.answer.entries.insert(name.to_owned(), entry) {
            Some(twice) => Err(format!("its list has {} twice", twice.record.name())),
            None => Ok(()),
        }
    }

    fn piece(&mut self, piece: &[u8]) -> Result<(), String> {
        if self.answer.manifest.len() + piece.len() > NAME_MANIFEST_MAX {
            return Err("its manifest is too long".to_owned());
        }
        self.answer.manifest.extend_from_slice(piece);
        Ok(())
    }
}

impl Verified {
    /// Returns whether the controller has made the record.
    fn has_made(&mut self, record: &NameRecord) -> bool {
        if self.known.get(record.name()) == Some(record) {
            return true;
        }
        let is_ours = self.key.as_ref().is_some_and(|key| record.is_signed_by(key));
        if is_ours {
            self.known.insert(record.name().to_owned(), record.clone());
        }
        is_ours
    }
}

#[cfg(test)]
mod tests;
