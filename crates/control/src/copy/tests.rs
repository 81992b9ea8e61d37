//! Tests of the head's driver.

use garland_core::plan::Layout;
use garland_core::trace::{Origin, Record, Role, Stage, Trace};
use garland_dataplane::recorder::At;
use garland_protocol::copy::Cut;

use super::notes::number_operations;

#[test]
fn a_block_has_the_number_of_the_operation_in_which_it_begins() {
    let begin = At { block: 1, ..At::HERE };
    let spans = [
        At::block(0, 0).span(Stage::Read, 1, 2),
        At::block(0, 3).span(Stage::Write, 1, 2),
        begin.span(Stage::Control, 1, 2),
        At::HERE.span(Stage::WaitUpstream, 1, 2),
    ];
    let origin = Origin {
        node: String::new(),
        index: 0,
        role: Role::Head,
        processors: 1,
        started_ns: 0,
        wall_ns: 0,
        copy: [0; 16],
        emulated: false,
    };
    let mut trace = Trace { origin, records: spans.map(Record::Span).to_vec() };
    let layout = Layout::new(6 * 4096, 4096).unwrap();
    number_operations(&mut trace, Cut { size: 10_000, overlap: 0 }, layout);
    let numbers = trace.records.iter().map(|record| match record {
        Record::Span(span) => span.operation,
        _ => panic!("not a span"),
    });
    assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 0, 0]);
}
