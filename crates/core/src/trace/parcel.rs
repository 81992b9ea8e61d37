//! Traces on their way to the head, in parcels that fit a control message. The times of a span are
//! differences, which postcard encodes in two or three bytes each instead of nine.

use serde::Deserialize;

use super::file::Origin;
use super::record::{Record, Span};

/// The maximum length of a parcel in bytes.
pub const PARCEL_MAX: usize = 48 << 10;

/// A part of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Parcel {
    /// The node and the copy of the trace.
    pub origin: Origin,
    /// The records of the trace that follow those of the previous parcel.
    pub records: Vec<Record>,
}

/// Encodes a trace in one or more parcels of at most `most` bytes each. A parcel is longer only if
/// the origin and a single record do not fit in it.
///
/// # Panics
/// Never: these types can always be serialized.
pub fn parcels(origin: &Origin, records: &[Record], most: usize) -> Vec<Vec<u8>> {
    /// The maximum length, in bytes, of the encoded number of records.
    const COUNT: usize = 5;
    let opening = postcard::to_stdvec(origin).expect("an origin is plain");
    let room = most.saturating_sub(opening.len() + COUNT);
    let mut parcels = Vec::new();
    let mut body = Vec::new();
    let mut count = 0_u32;
    let mut last_ns = 0;
    for record in records {
        let mut text = line(record, last_ns);
        if count > 0 && body.len() + text.len() > room {
            parcels.push(close(&opening, count, &body));
            (body, count) = (Vec::new(), 0);
            text = line(record, 0);
        }
        last_ns = span_begin(record).unwrap_or(if count == 0 { 0 } else { last_ns });
        body.extend(text);
        count += 1;
    }
    parcels.push(close(&opening, count, &body));
    parcels
}

fn line(record: &Record, last_ns: u64) -> Vec<u8> {
    postcard::to_stdvec(&relative(*record, last_ns)).expect("a record is plain")
}

fn close(opening: &[u8], count: u32, body: &[u8]) -> Vec<u8> {
    let count = postcard::to_stdvec(&count).expect("a number is plain");
    [opening, &count, body].concat()
}

fn span_begin(record: &Record) -> Option<u64> {
    match record {
        Record::Span(span) => Some(span.begin_ns),
        _ => None,
    }
}

/// Converts the times of a span to differences: the start to the time since `last_ns`, the start of
/// the previous span; the end to the span's length; the busy time to the idle time. Other records
/// are unchanged.
fn relative(record: Record, last_ns: u64) -> Record {
    let Record::Span(span) = record else { return record };
    let took = span.end_ns.wrapping_sub(span.begin_ns);
    Record::Span(Span {
        begin_ns: span.begin_ns.wrapping_sub(last_ns),
        end_ns: took,
        busy_ns: took.wrapping_sub(span.busy_ns),
        ..span
    })
}

fn absolute(record: Record, last_ns: u64) -> Record {
    let Record::Span(span) = record else { return record };
    let begin_ns = span.begin_ns.wrapping_add(last_ns);
    let took = span.end_ns;
    Record::Span(Span {
        begin_ns,
        end_ns: begin_ns.wrapping_add(took),
        busy_ns: took.wrapping_sub(span.busy_ns),
        ..span
    })
}

impl Parcel {
    /// Decodes a parcel; `None` if the bytes are invalid.
    pub fn open(bytes: &[u8]) -> Option<Self> {
        let mut parcel: Self = postcard::from_bytes(bytes).ok()?;
        let mut last_ns = 0;
        for record in &mut parcel.records {
            *record = absolute(*record, last_ns);
            last_ns = span_begin(record).unwrap_or(last_ns);
        }
        parcel.records.iter().all(Record::is_sound).then_some(parcel)
    }
}
