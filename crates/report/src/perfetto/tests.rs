//! Tests that decode an export's bytes. `tests/trace_export` of the `cli` crate decodes one with the
//! published schema.

use std::collections::BTreeMap;

use garland_core::trace::Stage;

use super::*;
use crate::Kind;
use crate::export::tests::{exported, traces};

/// A field's value.
#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// A message's fields, by their numbers.
struct Fields<'a>(Vec<(u32, Field<'a>)>);

impl<'a> Fields<'a> {
    fn of(mut bytes: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = match key & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => {
                    let (eight, rest) = bytes.split_first_chunk().unwrap();
                    bytes = rest;
                    Field::Number(u64::from_le_bytes(*eight))
                }
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Bytes(value)
                }
                other => panic!("a field of type {other}"),
            };
            fields.push(((key >> 3) as u32, value));
        }
        Self(fields)
    }

    fn number(&self, number: u32) -> Option<u64> {
        self.0.iter().find_map(|(field, value)| match value {
            Field::Number(value) if *field == number => Some(*value),
            _ => None,
        })
    }

    fn bytes(&self, number: u32) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter_map(move |(field, value)| match value {
            Field::Bytes(bytes) if *field == number => Some(*bytes),
            _ => None,
        })
    }

    fn messages(&self, number: u32) -> Vec<Fields<'a>> {
        self.bytes(number).map(Fields::of).collect()
    }

    fn text(&self, number: u32) -> String {
        let bytes = self.bytes(number).next().unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for at in 0.. {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return value;
        }
    }
    value
}

fn events<'a>(packets: &[Fields<'a>]) -> Vec<(u64, Fields<'a>)> {
    let of = |packet: &Fields<'a>| {
        let event = packet.messages(packet::TRACK_EVENT).pop()?;
        Some((packet.number(packet::TIMESTAMP).unwrap(), event))
    };
    packets.iter().filter_map(of).collect()
}

/// Returns the interned names of a list, by their numbers.
fn names(packets: &[Fields<'_>], list: u32) -> BTreeMap<u64, String> {
    let data = packets[0].messages(packet::INTERNED_DATA).pop().unwrap();
    let entries = data.messages(list);
    entries
        .iter()
        .map(|entry| (entry.number(interned::IID).unwrap(), entry.text(interned::NAME)))
        .collect()
}

#[test]
fn sums_are_those_of_the_traces() {
    let (bytes, totals) = exported(Kind::Perfetto, &traces());
    let packets = Fields::of(&bytes).messages(field::TRACE_PACKET);
    let stages = names(&packets, interned::EVENT_NAMES);
    let details = names(&packets, interned::DEBUG_ANNOTATION_NAMES);
    let mut sums: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for (_, event) in events(&packets) {
        let Some(name) = event.number(event::NAME_IID) else { continue };
        let sum = sums.entry(&stages[&name]).or_default();
        for detail in event.messages(event::DEBUG_ANNOTATIONS) {
            let name = &details[&detail.number(annotation::NAME_IID).unwrap()];
            let place = ["busy_ns", "bytes", "blocks"].iter().position(|known| known == name);
            if let Some(place) = place {
                sum[place] += detail.number(annotation::UINT_VALUE).unwrap();
            }
        }
    }
    let wanted = totals
        .stages()
        .map(|(stage, total)| (stage.name(), [total.busy_ns, total.bytes, total.blocks]));
    assert_eq!(sums, wanted.collect());
}

#[test]
fn slices_of_a_row_follow_each_other_by_the_heads_clock() {
    let (bytes, _) = exported(Kind::Perfetto, &traces());
    let packets = Fields::of(&bytes).messages(field::TRACE_PACKET);
    let mut open: BTreeMap<u64, (bool, u64)> = BTreeMap::new();
    let mut slices = 0;
    for (at_ns, event) in events(&packets) {
        let begins = match event.number(event::TYPE).unwrap() {
            event::SLICE_BEGIN => true,
            event::SLICE_END => false,
            _ => continue,
        };
        let track = event.number(event::TRACK_UUID).unwrap();
        let (was_open, last_ns) = open.insert(track, (begins, at_ns)).unwrap_or_default();
        assert!(was_open != begins && at_ns >= last_ns, "track {track} at {at_ns}");
        assert!(at_ns < 10_000_000, "{at_ns} is not by the head's clock");
        slices += u32::from(begins);
    }
    assert_eq!(slices, 12);
    assert!(open.values().all(|(is_open, _)| !is_open));
}

#[test]
fn flows_connect_sending_with_receiving() {
    let (bytes, _) = exported(Kind::Perfetto, &traces());
    let packets = Fields::of(&bytes).messages(field::TRACE_PACKET);
    let events = events(&packets);
    let flows = |number: u32| -> Vec<u64> {
        events.iter().filter_map(|(_, event)| event.number(number)).collect()
    };
    let sent = flows(event::FLOW_IDS);
    assert_eq!(sent.len(), 3);
    assert_eq!(sent, flows(event::TERMINATING_FLOW_IDS));
}

#[test]
fn tracks_have_names_and_parents() {
    let (bytes, _) = exported(Kind::Perfetto, &traces());
    let packets = Fields::of(&bytes).messages(field::TRACE_PACKET);
    let tracks: Vec<Fields<'_>> =
        packets.iter().flat_map(|packet| packet.messages(packet::TRACK_DESCRIPTOR)).collect();
    let mut ids: Vec<u64> = tracks.iter().map(|track| track.number(track::UUID).unwrap()).collect();
    let parents: Vec<u64> =
        tracks.iter().filter_map(|track| track.number(track::PARENT_UUID)).collect();
    assert!(parents.iter().all(|parent| ids.contains(parent)));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), tracks.len(), "each track has its own number");
    let processes: Vec<String> = tracks
        .iter()
        .flat_map(|track| track.messages(track::PROCESS))
        .map(|process| process.text(process::PROCESS_NAME))
        .collect();
    assert_eq!(processes, ["head", "n\"1\",", "critical path"]);
    let threads: Vec<String> = tracks
        .iter()
        .flat_map(|track| track.messages(track::THREAD))
        .map(|thread| thread.text(thread::THREAD_NAME))
        .collect();
    assert!(threads.contains(&"receive, lane 0, thread 1".to_owned()), "{threads:?}");
    let counters = tracks.iter().filter(|track| track.number(track::COUNTER).is_none());
    let named = counters.filter(|track| !track.messages(track::COUNTER).is_empty());
    let names: Vec<String> = named.map(|track| track.text(track::NAME)).collect();
    assert!(names.contains(&"thread 1 (receive): running".to_owned()), "{names:?}");
    assert!(names.contains(&"disk: written".to_owned()), "{names:?}");
    assert_eq!(names.len(), 8 + 1 + 2 + 11);
    let stages = self::names(&packets, interned::EVENT_NAMES);
    assert_eq!(stages.len(), Stage::ALL.len());
}
