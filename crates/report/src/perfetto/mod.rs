//! Perfetto's format: a sequence of packets, each a message of Protocol Buffers.
//!
//! All packets belong to one sequence. Its first packet lists names, to which the others refer by number.
//! Times are nanoseconds of the head's monotonic clock. They are converted here, since Perfetto assumes that
//! all machines share one monotonic clock.

mod field;
mod wire;

use std::io::{self, Write};

use garland_core::trace::{Lost, Stage};

use self::field::{annotation, counter, event, interned, packet, process, thread, track};
use self::wire::Message;
use crate::details::{self, NAMES, Value};
use crate::format::{Counter, Flow, Format, Process, Row, Slice, Step, Unit};

/// The ID of the only sequence of packets.
const SEQUENCE: u64 = 1;

/// The categories of events. Their numbers start at 1.
const CATEGORIES: [&str; 4] = ["work", "wait", "lost", "cause"];
const LOST: u64 = 3;
const CAUSE: u64 = 4;

/// A trace in Perfetto's format that is being written.
pub(crate) struct Perfetto<'a> {
    output: &'a mut dyn Write,
}

impl<'a> Perfetto<'a> {
    /// Writes the first packet, which lists the names of categories, events and details.
    pub(crate) fn begin(output: &'a mut dyn Write) -> io::Result<Self> {
        let mut perfetto = Self { output };
        let mut names = Message::default();
        let lists = [
            (interned::EVENT_CATEGORIES, CATEGORIES.to_vec()),
            (interned::EVENT_NAMES, Stage::ALL.map(|(_, name)| name).to_vec()),
            (interned::DEBUG_ANNOTATION_NAMES, NAMES.to_vec()),
        ];
        for (list, entries) in lists {
            for (number, name) in (1..).zip(entries) {
                let entry = Message::default().number(interned::IID, number);
                names = names.message(list, &entry.text(interned::NAME, name));
            }
        }
        let first = Message::default()
            .number(packet::FIRST_PACKET_ON_SEQUENCE, 1)
            .message(packet::INTERNED_DATA, &names);
        perfetto.packet(packet::STATE_CLEARED, first)?;
        Ok(perfetto)
    }

    /// Writes a packet with `flags` and `fields`.
    fn packet(&mut self, flags: u64, fields: Message) -> io::Result<()> {
        let fields = fields
            .number(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE)
            .number(packet::SEQUENCE_FLAGS, flags);
        let trace = Message::default().message(field::TRACE_PACKET, &fields);
        self.output.write_all(trace.bytes())
    }

    fn track(&mut self, descriptor: &Message) -> io::Result<()> {
        let fields = Message::default().message(packet::TRACK_DESCRIPTOR, descriptor);
        self.packet(packet::NEEDS_STATE, fields)
    }

    fn event(&mut self, at_ns: u64, event: &Message) -> io::Result<()> {
        let fields =
            Message::default().number(packet::TIMESTAMP, at_ns).message(packet::TRACK_EVENT, event);
        self.packet(packet::NEEDS_STATE, fields)
    }

    /// Writes a slice of a row as two events: its start, with all its properties, and its end.
    fn write_slice(
        &mut self,
        row: &Row,
        begin: &Message,
        begin_ns: u64,
        end_ns: u64,
    ) -> io::Result<()> {
        self.event(begin_ns, begin)?;
        self.event(end_ns, &event_of(event::SLICE_END, row.id))
    }
}

/// Returns an event of type `kind` on the track with ID `track`.
fn event_of(kind: u64, track: u64) -> Message {
    Message::default().number(event::TYPE, kind).number(event::TRACK_UUID, track)
}

fn annotated(mut message: Message, details: &[(usize, Value<'_>)]) -> Message {
    for (name, value) in details {
        let one = Message::default().number(annotation::NAME_IID, *name as u64 + 1);
        let one = match value {
            Value::Number(number) => one.number(annotation::UINT_VALUE, *number),
            Value::Text(text) => one.text(annotation::STRING_VALUE, text),
        };
        message = message.message(event::DEBUG_ANNOTATIONS, &one);
    }
    message
}

fn name_iid(stage: Stage) -> u64 {
    u64::from(stage.number()) + 1
}

impl Format for Perfetto<'_> {
    fn process(&mut self, process: &Process) -> io::Result<()> {
        let mut inner = Message::default()
            .number(process::PID, process.pid.into())
            .number(process::LEGACY_SORT_INDEX, process.rank().into())
            .text(process::PROCESS_NAME, &process.name);
        for label in &process.labels {
            inner = inner.text(process::PROCESS_LABELS, label);
        }
        let message = Message::default().number(track::UUID, process.id);
        self.track(&message.message(track::PROCESS, &inner))
    }

    fn row(&mut self, process: &Process, row: &Row) -> io::Result<()> {
        let inner = Message::default()
            .number(thread::PID, process.pid.into())
            .number(thread::TID, row.tid())
            .text(thread::THREAD_NAME, &row.name);
        let message = Message::default()
            .number(track::UUID, row.id)
            .number(track::PARENT_UUID, process.id)
            .message(track::THREAD, &inner);
        self.track(&message)
    }

    fn slice(&mut self, _: &Process, row: &Row, slice: &Slice<'_>) -> io::Result<()> {
        let stage = slice.span.stage;
        let begin = event_of(event::SLICE_BEGIN, row.id)
            .number(event::NAME_IID, name_iid(stage))
            .number(event::CATEGORY_IIDS, 1 + u64::from(stage.is_wait()));
        let begin = annotated(begin, &details::of_slice(slice));
        let begin = match slice.flow {
            Some(Flow { id, arrives: true }) => begin.fixed(event::TERMINATING_FLOW_IDS, id),
            Some(Flow { id, arrives: false }) => begin.fixed(event::FLOW_IDS, id),
            None => begin,
        };
        self.write_slice(row, &begin, slice.begin_ns, slice.end_ns)
    }

    fn step(&mut self, _: &Process, row: &Row, step: &Step) -> io::Result<()> {
        let begin = event_of(event::SLICE_BEGIN, row.id)
            .text(event::NAME, step.cause)
            .number(event::CATEGORY_IIDS, CAUSE);
        let begin = annotated(begin, &details::of_step(step));
        self.write_slice(row, &begin, step.begin_ns, step.end_ns)
    }

    fn lost(
        &mut self,
        process: &Process,
        lost: &Lost,
        peer: Option<&str>,
        at_ns: u64,
    ) -> io::Result<()> {
        let message = event_of(event::INSTANT, process.id)
            .number(event::NAME_IID, name_iid(lost.stage))
            .number(event::CATEGORY_IIDS, LOST);
        self.event(at_ns, &annotated(message, &details::of_lost(lost, peer)))
    }

    fn counter(&mut self, process: &Process, counter: &Counter) -> io::Result<()> {
        let inner = Message::default();
        let inner = match counter.unit {
            Unit::Time => inner.number(counter::UNIT, counter::TIME_NS),
            Unit::Bytes => inner.number(counter::UNIT, counter::SIZE_BYTES),
            Unit::Count => inner.number(counter::UNIT, counter::COUNT),
            Unit::Rate => inner.text(counter::UNIT_NAME, counter.unit.name()),
        };
        let message = Message::default()
            .number(track::UUID, counter.id)
            .number(track::PARENT_UUID, process.id)
            .text(track::NAME, &counter.name)
            .message(track::COUNTER, &inner);
        self.track(&message)
    }

    fn sample(&mut self, _: &Process, counter: &Counter, at_ns: u64, value: u64) -> io::Result<()> {
        // The schema's type is signed.
        let value = value.min(i64::MAX.unsigned_abs());
        let message = event_of(event::COUNTER, counter.id).number(event::COUNTER_VALUE, value);
        self.event(at_ns, &message)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests;
