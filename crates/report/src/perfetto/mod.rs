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
use crate::format::{Counter, Format, Process, Row, Slice, Step, Unit};

/// ID of the only sequence.
const SEQUENCE: u64 = 1;

/// The categories; their numbers start at 1.
const CATEGORIES: [&str; 4] = ["work", "wait", "lost", "cause"];
const LOST: u64 = 3;
const CAUSE: u64 = 4;

/// A trace that is being written.
pub(crate) struct Perfetto<'a> {
    output: &'a mut dyn Write,
}

impl<'a> Perfetto<'a> {
    /// Writes the first packet.
    pub(crate) fn begin(output: &'a mut dyn Write) -> io::Result<Self> {
        let mut perfetto = Self { output };
        let mut names = Message::default();
        let lists = [
            (interned::EVENT_CATEGORIES, CATEGORIES.to_vec()),
            (interned::EVENT_NAMES, Stage::ALL.map(Stage::name).to_vec()),
            (interned::DEBUG_ANNOTATION_NAMES, NAMES.to_vec()),
        ];
        for (list, entries) in lists {
            for (number, name) in (1..).zip(entries) {
                let mut entry = Message::default();
                entry.number(interned::IID, number);
                entry.text(interned::NAME, name);
                names.message(list, &entry);
            }
        }
        let mut first = Message::default();
        first.number(packet::FIRST_PACKET_ON_SEQUENCE, 1);
        first.message(packet::INTERNED_DATA, &names);
        perfetto.packet(packet::STATE_CLEARED, first)?;
        Ok(perfetto)
    }

    /// Writes a packet with `flags` and `fields`.
    fn packet(&mut self, flags: u64, mut fields: Message) -> io::Result<()> {
        fields.number(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
        fields.number(packet::SEQUENCE_FLAGS, flags);
        let mut trace = Message::default();
        trace.message(field::TRACE_PACKET, &fields);
        self.output.write_all(trace.bytes())
    }

    fn track(&mut self, descriptor: &Message) -> io::Result<()> {
        let mut fields = Message::default();
        fields.message(packet::TRACK_DESCRIPTOR, descriptor);
        self.packet(packet::NEEDS_STATE, fields)
    }

    fn event(&mut self, at_ns: u64, event: &Message) -> io::Result<()> {
        let mut fields = Message::default();
        fields.number(packet::TIMESTAMP, at_ns);
        fields.message(packet::TRACK_EVENT, event);
        self.packet(packet::NEEDS_STATE, fields)
    }
}

/// Returns an event with its type and track.
fn event_of(kind: u64, track: u64) -> Message {
    let mut message = Message::default();
    message.number(event::TYPE, kind);
    message.number(event::TRACK_UUID, track);
    message
}

fn annotate(message: &mut Message, details: &[(usize, Value<'_>)]) {
    for (name, value) in details {
        let mut one = Message::default();
        one.number(annotation::NAME_IID, *name as u64 + 1);
        match value {
            Value::Number(number) => one.number(annotation::UINT_VALUE, *number),
            Value::Text(text) => one.text(annotation::STRING_VALUE, text),
        }
        message.message(event::DEBUG_ANNOTATIONS, &one);
    }
}

fn name_iid(stage: Stage) -> u64 {
    u64::from(stage.number()) + 1
}

impl Format for Perfetto<'_> {
    fn process(&mut self, process: &Process) -> io::Result<()> {
        let mut inner = Message::default();
        inner.number(process::PID, u64::from(process.pid));
        inner.number(process::LEGACY_SORT_INDEX, u64::from(process.rank()));
        inner.text(process::PROCESS_NAME, &process.name);
        for label in &process.labels {
            inner.text(process::PROCESS_LABELS, label);
        }
        let mut message = Message::default();
        message.number(track::UUID, process.id);
        message.message(track::PROCESS, &inner);
        self.track(&message)
    }

    fn row(&mut self, process: &Process, row: &Row) -> io::Result<()> {
        let mut inner = Message::default();
        inner.number(thread::PID, u64::from(process.pid));
        inner.number(thread::TID, row.tid());
        inner.text(thread::THREAD_NAME, &row.name);
        let mut message = Message::default();
        message.number(track::UUID, row.id);
        message.number(track::PARENT_UUID, process.id);
        message.message(track::THREAD, &inner);
        self.track(&message)
    }

    fn slice(&mut self, _: &Process, row: &Row, slice: &Slice<'_>) -> io::Result<()> {
        let mut begin = event_of(event::SLICE_BEGIN, row.id);
        let stage = slice.span.stage;
        begin.number(event::NAME_IID, name_iid(stage));
        begin.number(event::CATEGORY_IIDS, 1 + u64::from(stage.is_wait()));
        annotate(&mut begin, &details::of_slice(slice));
        if let Some(flow) = slice.flow {
            let end = flow.arrives;
            let field = if end { event::TERMINATING_FLOW_IDS } else { event::FLOW_IDS };
            begin.fixed(field, flow.id);
        }
        self.event(slice.begin_ns, &begin)?;
        self.event(slice.end_ns, &event_of(event::SLICE_END, row.id))
    }

    fn step(&mut self, _: &Process, row: &Row, step: &Step) -> io::Result<()> {
        let mut begin = event_of(event::SLICE_BEGIN, row.id);
        begin.text(event::NAME, step.cause);
        begin.number(event::CATEGORY_IIDS, CAUSE);
        annotate(&mut begin, &details::of_step(step));
        self.event(step.begin_ns, &begin)?;
        self.event(step.end_ns, &event_of(event::SLICE_END, row.id))
    }

    fn lost(
        &mut self,
        process: &Process,
        lost: &Lost,
        peer: Option<&str>,
        at_ns: u64,
    ) -> io::Result<()> {
        let mut message = event_of(event::INSTANT, process.id);
        message.number(event::NAME_IID, name_iid(lost.stage));
        message.number(event::CATEGORY_IIDS, LOST);
        annotate(&mut message, &details::of_lost(lost, peer));
        self.event(at_ns, &message)
    }

    fn counter(&mut self, process: &Process, counter: &Counter) -> io::Result<()> {
        let mut inner = Message::default();
        match counter.unit {
            Unit::Time => inner.number(counter::UNIT, counter::TIME_NS),
            Unit::Bytes => inner.number(counter::UNIT, counter::SIZE_BYTES),
            Unit::Count => inner.number(counter::UNIT, counter::COUNT),
            Unit::Rate => inner.text(counter::UNIT_NAME, counter.unit.name()),
        }
        let mut message = Message::default();
        message.number(track::UUID, counter.id);
        message.number(track::PARENT_UUID, process.id);
        message.text(track::NAME, &counter.name);
        message.message(track::COUNTER, &inner);
        self.track(&message)
    }

    fn sample(&mut self, _: &Process, counter: &Counter, at_ns: u64, value: u64) -> io::Result<()> {
        let mut message = event_of(event::COUNTER, counter.id);
        // The schema's type is signed.
        message.number(event::COUNTER_VALUE, value.min(i64::MAX.unsigned_abs()));
        self.event(at_ns, &message)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests;
