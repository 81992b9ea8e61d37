//! A CSV table with a line for each span and sample (RFC 4180, but with Unix line ends).

use std::borrow::Cow;
use std::io::{self, Write};

use garland_core::trace::{Lost, NO_BLOCK, NONE, Span, Stage};

use crate::details;
use crate::format::{Counter, Format, Process, Row, Slice, Step};

/// The header line. A `span` has no `value`; a `sample` has no columns between `end_ns` and
/// `value`; `lost` spans have only sums. A stretch of the `path` has only a place and times; its
/// `peer` is the receiver of a hop.
const COLUMNS: &str = "node,kind,name,lane,peer,thread,begin_ns,end_ns,clock_error_ns,\
                       busy_ns,bytes,block,blocks,operation,exchange,value,unit\n";

/// A table that is being written.
pub(crate) struct Csv<'a> {
    output: &'a mut dyn Write,
}

impl<'a> Csv<'a> {
    /// Writes the header line.
    pub(crate) fn begin(output: &'a mut dyn Write) -> io::Result<Self> {
        output.write_all(COLUMNS.as_bytes())?;
        Ok(Self { output })
    }
}

/// Returns a field, quoted if it contains a quote, a comma or a line end.
fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\"")).into()
    } else {
        field.into()
    }
}

fn unless<T: PartialEq + ToString>(none: T, value: T) -> String {
    if value == none { String::new() } else { value.to_string() }
}

impl Format for Csv<'_> {
    fn slice(&mut self, process: &Process, _: &Row, slice: &Slice<'_>) -> io::Result<()> {
        let Slice { begin_ns, end_ns, span, .. } = *slice;
        let Span { stage, thread, busy_ns, bytes, count, .. } = *span;
        let name = quoted(&process.name);
        let peer = quoted(slice.peer.unwrap_or_default());
        let lane = unless(NONE, span.lane);
        let operation = unless(0, span.operation);
        let block = if stage == Stage::Control { NO_BLOCK } else { span.block };
        let block = unless(NO_BLOCK, block);
        let error_ns = slice.error_ns.map_or_else(String::new, |error| error.to_string());
        let shown = details::exchange(span).unwrap_or_default();
        writeln!(
            self.output,
            "{name},span,{stage},{lane},{peer},{thread},{begin_ns},{end_ns},{error_ns},\
             {busy_ns},{bytes},{block},{count},{operation},{shown},,"
        )
    }

    fn step(&mut self, _: &Process, _: &Row, step: &Step) -> io::Result<()> {
        let Step { begin_ns, end_ns, cause, node, to, .. } = step;
        let [node, to] = [node, to].map(|name| quoted(name.as_deref().unwrap_or_default()));
        writeln!(self.output, "{node},path,{cause},,{to},,{begin_ns},{end_ns},,,,,,,,,")
    }

    fn lost(
        &mut self,
        process: &Process,
        lost: &Lost,
        peer: Option<&str>,
        at_ns: u64,
    ) -> io::Result<()> {
        let Lost { stage, busy_ns, bytes, count, .. } = *lost;
        let name = quoted(&process.name);
        let peer = quoted(peer.unwrap_or_default());
        let lane = unless(NONE, lost.lane);
        writeln!(
            self.output,
            "{name},lost,{stage},{lane},{peer},,{at_ns},{at_ns},,{busy_ns},{bytes},,{count},,,,"
        )
    }

    fn sample(
        &mut self,
        process: &Process,
        counter: &Counter,
        at_ns: u64,
        value: u64,
    ) -> io::Result<()> {
        let name = quoted(&process.name);
        let what = quoted(&counter.name);
        let unit = counter.unit.name();
        writeln!(self.output, "{name},sample,{what},,,,{at_ns},{at_ns},,,,,,,,{value},{unit}")
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use crate::Kind;
    use crate::export::tests::{example_traces, exported};

    #[test]
    fn lines_have_all_columns_and_sums_are_those_of_the_traces() {
        let (bytes, totals) = exported(Kind::Csv, &example_traces());
        let text = String::from_utf8(bytes).unwrap();
        let mut lines = text.lines().map(fields);
        let columns = lines.next().unwrap();
        assert_eq!(columns.len(), 17);
        let place = |name: &str| columns.iter().position(|column| column == name).unwrap();
        let lines: Vec<Vec<String>> = lines.collect();
        assert!(lines.iter().all(|line| line.len() == 17), "{text}");
        for (stage, total) in totals.stages() {
            let of_stage = lines
                .iter()
                .filter(|line| ["span", "lost"].contains(&&*line[1]) && line[2] == stage.name());
            let sum = |column: &str| {
                let numbers = of_stage.clone().map(|line| line[place(column)].parse::<u64>());
                numbers.sum::<Result<u64, _>>().unwrap()
            };
            let found = (sum("busy_ns"), sum("bytes"), sum("blocks"));
            assert_eq!(found, (total.busy_ns, total.bytes, total.blocks), "{stage}");
        }
        assert!(lines.iter().any(|line| line[0] == "n\"1\"," && line[1] == "sample"));
        assert!(lines.iter().any(|line| line[place("exchange")] == "begin"));
        assert!(lines.iter().any(|line| line[..3] == ["head", "path", "wire"]));
    }

    /// Splits a line at its commas, but not within quotes.
    fn fields(line: &str) -> Vec<String> {
        let mut fields = vec![String::new()];
        let mut quoted = false;
        let mut marks = line.chars().peekable();
        while let Some(mark) = marks.next() {
            let field = fields.last_mut().unwrap();
            match mark {
                '"' if quoted && marks.peek() == Some(&'"') => {
                    marks.next();
                    field.push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                other => field.push(other),
            }
        }
        fields
    }
}
