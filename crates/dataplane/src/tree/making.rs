//! Generates the stream of a tree from its records and files: on the source, and on a node that has
//! some of the files already.

use std::io;

use garland_core::tree::VOID;

use super::index::{Body, Index, Stamp};

/// The files of a stream, from which [`make`] takes their bytes and end marks.
pub trait Bodies {
    /// Returns whether a record with this body is void: it is a hard link to a file that has
    /// failed.
    fn is_void(&mut self, body: Body) -> bool;
    /// Fills `bytes` with the bytes at `offset` of the file of record `number`.
    ///
    /// # Errors
    /// When they are not available.
    fn read(&mut self, number: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Returns the end mark of the file of record `number`, which had this stamp when it was
    /// examined.
    fn mark(&mut self, number: u32, stamp: Stamp) -> u8;
}

/// Fills `bytes` with the stream's bytes at the offset `at`.
///
/// # Errors
/// When bytes of a file are not available.
pub fn make(
    index: &Index,
    bodies: &mut impl Bodies,
    mut at: u64,
    mut bytes: &mut [u8],
) -> io::Result<()> {
    let mut number = index.find(at);
    while !bytes.is_empty() {
        let (begin, end) = index.span(number);
        let record = index.bytes(number);
        let inside = at - begin;
        let body = index.body(number);
        let behind = inside.checked_sub(record.len() as u64);
        let left = match (behind, body) {
            (None, _) => record.len() as u64 - inside,
            (Some(behind), Body::File(stamp)) if behind < stamp.length() => stamp.length() - behind,
            _ => 1,
        };
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let (now, rest) = bytes.split_at_mut(part);
        match (behind, body) {
            (None, _) => {
                now.copy_from_slice(&record[inside as usize..inside as usize + part]);
                if inside == 0 && bodies.is_void(body) {
                    now[0] = VOID;
                }
            }
            (Some(behind), Body::File(stamp)) if behind < stamp.length() => {
                bodies.read(number, behind, now)?;
            }
            (Some(_), Body::File(stamp)) => now[0] = bodies.mark(number, stamp),
            // No bytes follow other records.
            (Some(_), _) => now.fill(0),
        }
        at += part as u64;
        bytes = rest;
        if at == end {
            number += 1;
        }
    }
    Ok(())
}
