//! A CSV table with a line for each span and sample (RFC 4180, but with Unix line ends).

use std::io::{self, Write};

use garland_core::trace::{Lost, NO_BLOCK, NONE, Stage};

use crate::details;
use crate::format::{Counter, Format, Process, Row, Slice, Step};

/// The columns. A `span` has no `value`, a `sample` has nothing between `end_ns` and `value`, `lost` spans
/// have only sums, and a stretch of the `path` has only a place and times; its `peer` is the receiver of a
/// hop.
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

    fn line<const N: usize>(&mut self, fields: [String; N]) -> io::Result<()> {
        let fields = fields.map(quoted);
        self.output.write_all(fields.join(",").as_bytes())?;
        self.output.write_all(b"\n")
    }
}

/// Quotes a field if it has a quote, a comma or a line end.
fn quoted(field: String) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

fn unless<T: PartialEq + ToString>(none: T, value: T) -> String {
    if value == none { String::new() } else { value.to_string() }
}

impl Format for Csv<'_> {
    fn process(&mut self, _: &Process) -> io::Result<()> {
        // Every line names its node.
        Ok(())
    }

    fn row(&mut self, _: &Process, _: &Row) -> io::Result<()> {
        Ok(())
    }

    fn slice(&mut self, process: &Process, _: &Row, slice: &Slice<'_>) -> io::Result<()> {
        let span = slice.span;
        let block = if span.stage == Stage::Control { NO_BLOCK } else { span.block };
        self.line([
            process.name.clone(),
            "span".to_owned(),
            span.stage.name().to_owned(),
            unless(NONE, span.lane),
            slice.peer.unwrap_or_default().to_owned(),
            span.thread.to_string(),
            slice.begin_ns.to_string(),
            slice.end_ns.to_string(),
            slice.error_ns.map_or_else(String::new, |error| error.to_string()),
            span.busy_ns.to_string(),
            span.bytes.to_string(),
            unless(NO_BLOCK, block),
            span.count.to_string(),
            unless(0, span.operation),
            details::exchange(span).unwrap_or_default().to_owned(),
            String::new(),
            String::new(),
        ])
    }

    fn step(&mut self, _: &Process, _: &Row, step: &Step) -> io::Result<()> {
        let of = |word: &Option<String>| quoted(word.clone().unwrap_or_default());
        let (node, to, cause) = (of(&step.node), of(&step.to), step.cause);
        let Step { begin_ns, end_ns, .. } = *step;
        writeln!(self.output, "{node},path,{cause},,{to},,{begin_ns},{end_ns},,,,,,,,,")
    }

    fn lost(
        &mut self,
        process: &Process,
        lost: &Lost,
        peer: Option<&str>,
        at_ns: u64,
    ) -> io::Result<()> {
        self.line([
            process.name.clone(),
            "lost".to_owned(),
            lost.stage.name().to_owned(),
            unless(NONE, lost.lane),
            peer.unwrap_or_default().to_owned(),
            String::new(),
            at_ns.to_string(),
            at_ns.to_string(),
            String::new(),
            lost.busy_ns.to_string(),
            lost.bytes.to_string(),
            String::new(),
            lost.count.to_string(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ])
    }

    fn sample(
        &mut self,
        process: &Process,
        counter: &Counter,
        at_ns: u64,
        value: u64,
    ) -> io::Result<()> {
        let at = at_ns.to_string();
        let (name, unit) = (quoted(process.name.clone()), counter.unit.name());
        let what = quoted(counter.name.clone());
        writeln!(self.output, "{name},sample,{what},,,,{at},{at},,,,,,,,{value},{unit}")
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use crate::Kind;
    use crate::export::tests::{exported, traces};

    #[test]
    fn lines_have_all_columns_and_sums_are_those_of_the_traces() {
        let (bytes, totals) = exported(Kind::Csv, &traces());
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
        let (mut fields, mut quoted) = (vec![String::new()], false);
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
