//! Orders about names for content, and what the agents answer.

use std::time::Duration;

use super::query::Query;
use crate::names::{MANIFEST_PIECE_MAX, NAME_MANIFEST_MAX, NameEntry, NamesEvent, NamesOrder};
use crate::{FromAgent, PublicKey, ToAgent};

/// Timeout for an order about the list of names: a disk may have to spin up. Reading files to publish them has no
/// timeout.
const PATIENCE: Duration = Duration::from_secs(30);

/// What an agent has answered so far about names.
#[derive(Clone, Debug, Default)]
pub struct NamesAnswer {
    /// The entries of the list.
    pub entries: Vec<NameEntry>,
    /// The path of a file or directory below the agent's root (raw bytes).
    pub path: Vec<u8>,
    /// The bytes of a manifest, at most [`NAME_MANIFEST_MAX`].
    pub manifest: Vec<u8>,
    /// The public key with which the node reads names and contents.
    pub key: Option<PublicKey>,
}

/// Sends `order` to `count` nodes; before it, the pieces of `manifest`, if the order is to keep an entry with it.
#[must_use]
pub fn names(count: usize, order: &NamesOrder, manifest: &[u8]) -> Query<'static, NamesAnswer> {
    let pieces = manifest.chunks(MANIFEST_PIECE_MAX);
    let pieces: Vec<_> =
        pieces.map(|piece| ToAgent::Names(NamesOrder::Piece(piece.to_vec(), true))).collect();
    let all = |node| {
        let order = ToAgent::Names(order.clone());
        pieces.clone().into_iter().chain([order]).map(move |order| (node, order))
    };
    let orders: Vec<_> = (0..count).flat_map(all).collect();
    let late = format!("its list of names did not answer within {} s", PATIENCE.as_secs());
    let patience = !matches!(order, NamesOrder::Digest(_));
    let ends_with_path = matches!(order, NamesOrder::Locate { .. });
    let mut answers = vec![NamesAnswer::default(); count];
    Query::new(orders, patience.then_some((PATIENCE, late)), move |node, message| {
        let (FromAgent::Names(event), Some(answer)) = (message, answers.get_mut(node)) else {
            return None;
        };
        let is_last = match event {
            NamesEvent::Entry(entry) => {
                // What an agent says is bounded before it is used.
                answer.entries.extend(entry.check().is_ok().then_some(*entry));
                false
            }
            NamesEvent::Path(path) => {
                answer.path = path;
                ends_with_path
            }
            NamesEvent::Key(key) => {
                answer.key = Some(key);
                false
            }
            NamesEvent::Piece(piece, more) => {
                if answer.manifest.len() + piece.len() > NAME_MANIFEST_MAX {
                    return Some(Err("its manifest is too long".to_owned()));
                }
                answer.manifest.extend(piece);
                !more
            }
            NamesEvent::End(result) => return Some(result.map(|()| std::mem::take(answer))),
        };
        is_last.then(|| Ok(std::mem::take(answer)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::interface::{AgentEvent, Operation, Orders};
    use super::*;

    #[test]
    fn an_answer_in_pieces_is_put_together_and_an_endless_one_is_refused() {
        let order = NamesOrder::Digest(b"x".to_vec());
        let (mut query, mut orders) = (names(2, &order, &[]), Orders::default());
        query.begin(0, &mut orders);
        assert_eq!(orders.take().len(), 2);
        let mut say = |node, event| {
            let event = AgentEvent::Message(FromAgent::Names(event));
            query.handle(0, node, event, &mut Orders::default());
        };
        say(0, NamesEvent::Path(b"d/x".to_vec()));
        say(0, NamesEvent::Piece(vec![1, 2], true));
        say(0, NamesEvent::Piece(vec![3], false));
        for _ in 0..=NAME_MANIFEST_MAX / MANIFEST_PIECE_MAX {
            say(1, NamesEvent::Piece(vec![0; MANIFEST_PIECE_MAX], true));
        }
        assert!(query.is_over());
        let answers: Vec<_> = query.into_answers().into_values().flatten().collect();
        let first = answers[0].as_ref().expect("it has answered");
        assert_eq!(
            (first.path.as_slice(), first.manifest.as_slice()),
            (&b"d/x"[..], &[1, 2, 3][..])
        );
        assert!(answers[1].as_ref().is_err_and(|reason| reason.contains("too long")));
    }

    #[test]
    fn a_manifest_goes_before_the_entry_that_it_belongs_to() {
        let order = NamesOrder::Find(None);
        let (mut query, mut orders) =
            (names(1, &order, &[7; MANIFEST_PIECE_MAX + 1]), Orders::default());
        query.begin(0, &mut orders);
        let sent = orders.take();
        let kinds =
            sent.iter().map(|(_, order)| matches!(order, ToAgent::Names(NamesOrder::Piece(..))));
        assert_eq!(kinds.collect::<Vec<_>>(), [true, true, false]);
    }
}
