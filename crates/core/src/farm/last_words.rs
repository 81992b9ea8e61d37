//! The end of a job's standard error, which often shows the reason for a failure.

use super::Text;

/// The maximum number of lines that [`last_words`] returns.
pub const LINES: usize = 8;

/// The maximum number of bytes that [`last_words`] returns. It is small since a run can have a
/// hundred thousand failed jobs.
pub const BYTES: usize = 512;

/// Returns the last non-empty lines of the output `said`, oldest first: up to [`LINES`] lines and
/// [`BYTES`] bytes. If the last line has more than [`BYTES`] bytes, only its end is returned.
/// Earlier lines are returned whole or not at all.
pub fn last_words(said: &[u8]) -> Vec<Text> {
    let mut left = BYTES;
    let mut lines: Vec<Text> = Vec::new();
    // A progress display ends its lines with carriage returns.
    for line in said.rsplit(|byte| matches!(byte, b'\n' | b'\r')) {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            continue;
        }
        let is_whole = line.len() <= left;
        if lines.len() == LINES || left == 0 || !(is_whole || lines.is_empty()) {
            break;
        }
        let kept = &line[line.len().saturating_sub(left)..];
        left -= kept.len();
        lines.push(kept.into());
    }
    lines.reverse();
    lines
}

/// Returns the last ones of lines that another machine says are these: as many as
/// [`last_words`] returns. One that is too long ends them.
pub fn limited(lines: Vec<Text>) -> Vec<Text> {
    let mut left = BYTES;
    let fitting = |line: &Text| {
        let fits = line.bytes().len() <= left;
        left = left.saturating_sub(line.bytes().len());
        fits
    };
    let mut last: Vec<Text> = lines.into_iter().rev().take(LINES).take_while(fitting).collect();
    last.reverse();
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(said: &[u8]) -> Vec<String> {
        last_words(said).iter().map(Text::to_string).collect()
    }

    #[test]
    fn the_last_lines_are_kept_whole() {
        assert_eq!(words(b""), [""; 0]);
        assert_eq!(words(b"\n \n"), [""; 0]);
        assert_eq!(words(b"one\ntwo\n\n"), ["one", "two"]);
        assert_eq!(words(b"  10 %\r  20 %\rno room\xff"), ["  10 %", "  20 %", "no room\\xff"]);
        let many: String = (0..100).map(|number| format!("line {number}\n")).collect();
        let kept = words(many.as_bytes());
        assert_eq!((kept.len(), kept[0].as_str(), kept[7].as_str()), (8, "line 92", "line 99"));
    }

    #[test]
    fn what_another_machine_says_is_limited_likewise() {
        let own = last_words(b"one\ntwo\n");
        assert_eq!(limited(own.clone()), own);
        assert_eq!(limited(vec![Text::from("x"); 70_000]).len(), LINES);
        let long = Text::from("x".repeat(BYTES + 1).as_str());
        assert_eq!(limited(vec![long, Text::from("end")]), [Text::from("end")]);
    }

    #[test]
    fn of_what_is_too_long_the_end_is_kept() {
        let long = [b"first ".as_slice(), &[b'x'; 600], b" end"].concat();
        let kept = last_words(&long);
        assert_eq!((kept.len(), kept[0].bytes().len()), (1, BYTES));
        assert!(kept[0].bytes().ends_with(b"x end"));
        let both = [long.as_slice(), b"\nshort"].concat();
        assert_eq!(words(&both), ["short"], "no half of a line stands before a whole one");
    }
}
