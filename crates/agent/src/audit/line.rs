//! The form of a line (RFC 3164, as syslog(3) writes it): `<38>garland[812]: session peer=...`.

use std::fmt::Write;
use std::net::SocketAddr;

use garland_core::printable;
use garland_protocol::Role;
use garland_protocol::wire::fingerprint;

use super::caller::Caller;

/// The maximum length of a line in bytes: RFC 3164 allows receivers to cut longer ones.
const MAX_LINE: usize = 1024;

/// The maximum length of one value in bytes, so that a long path leaves room for what follows it.
const MAX_VALUE: usize = 480;

/// The part of the system that a line is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facility {
    /// Services.
    Daemon = 3,
    /// Who may do what.
    Auth = 4,
}

/// How important a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something that may need a look.
    Warning = 4,
    /// What happens every day.
    Info = 6,
}

/// A line: a word, and names with values.
pub struct Line {
    severity: Severity,
    text: String,
}

impl Line {
    /// Creates the line that begins with `word`.
    pub fn new(word: &'static str) -> Self {
        Self { severity: Severity::Info, text: word.to_owned() }
    }

    /// Sets the severity, which is [`Severity::Info`] otherwise.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Adds the address, the key and the role of a peer.
    pub fn caller(self, caller: &Caller) -> Self {
        let role = match caller.role {
            Role::Controller => "controller",
            Role::Member => "member",
            Role::FarmNode => "farm-node",
        };
        self.peer(caller.peer).word("key", &fingerprint(&caller.key)).word("role", role)
    }

    /// Adds the address of a peer.
    pub fn peer(self, peer: SocketAddr) -> Self {
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        self.word("peer", &peer.to_string())
    }

    /// Adds a value that has no blanks and no control characters.
    pub fn word(mut self, name: &'static str, value: &str) -> Self {
        // Writing to memory cannot fail.
        let _ = write!(self.text, " {name}={value}");
        self
    }

    /// Adds a number.
    pub fn number(self, name: &'static str, value: u64) -> Self {
        self.word(name, &value.to_string())
    }

    /// Adds how many lines of the kind were not told before it, if there are any.
    pub fn untold(self, number: u64) -> Self {
        if number > 0 { self.number("untold", number) } else { self }
    }

    /// Adds a value of others' choice: in quotation marks, with control characters, bytes that are
    /// no text, quotation marks and backslashes escaped, and cut if it is long.
    pub fn text(self, name: &'static str, value: &[u8]) -> Self {
        let mut quoted = String::from('"');
        for escaped in escaped(value) {
            if quoted.len() + escaped.len() > MAX_VALUE {
                quoted.push('…');
                break;
            }
            quoted += &escaped;
        }
        quoted.push('"');
        self.word(name, &quoted)
    }

    /// Returns the datagram. It has no time: all receivers on the same machine take that of the
    /// arrival, and the local time of a static program may differ.
    pub fn to_bytes(&self, facility: Facility) -> Vec<u8> {
        let priority = facility as u8 * 8 + self.severity as u8;
        let line = format!("<{priority}>garland[{}]: {}", std::process::id(), self.text);
        let end = line.floor_char_boundary(MAX_LINE);
        line.as_bytes()[..end].to_vec()
    }
}

/// Returns the characters of a value, and its bytes that are no text, each escaped for a place in
/// quotation marks.
fn escaped(value: &[u8]) -> impl Iterator<Item = String> {
    value.utf8_chunks().flat_map(|chunk| {
        let characters = chunk.valid().chars().map(|c| match c {
            '"' => "\\\"".to_owned(),
            _ => printable::name(c.encode_utf8(&mut [0; 4]).as_bytes()),
        });
        let bytes = chunk.invalid().iter().map(|byte| printable::name(&[*byte]));
        characters.chain(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(line: &Line) -> String {
        let text = String::from_utf8(line.to_bytes(Facility::Daemon)).expect("text");
        text.split_once("]: ").expect("a program's name").1.to_owned()
    }

    #[test]
    fn what_others_say_stays_on_one_line_and_within_its_quotation_marks() {
        let line = Line::new("exec")
            .text("program", b"a\n<0>su: \"root\" \\ \x1b[2J\xff")
            .number("arguments", 2);
        assert_eq!(
            sent(&line),
            "exec program=\"a\\n<0>su: \\\"root\\\" \\\\ \\x1b[2J\\xff\" arguments=2"
        );
    }

    #[test]
    fn long_values_are_cut_and_lines_are_bounded() {
        let long = "ä\n".repeat(5000);
        let line = Line::new("copy").text("path", long.as_bytes()).word("direction", "in");
        let text = sent(&line);
        assert!(text.ends_with("…\" direction=in"), "{text}");
        assert!(text.len() < MAX_VALUE + 50);
        let line = (0..4).fold(Line::new("copy"), |line, _| line.text("path", long.as_bytes()));
        let bytes = line.to_bytes(Facility::Auth);
        assert!((MAX_LINE - 3..=MAX_LINE).contains(&bytes.len()), "{}", bytes.len());
        assert!(bytes.iter().all(|byte| !byte.is_ascii_control()));
    }

    #[test]
    fn the_number_in_front_has_facility_and_severity() {
        let line = Line::new("refused").severity(Severity::Warning);
        let text = String::from_utf8(line.to_bytes(Facility::Auth)).expect("text");
        assert_eq!(text, format!("<36>garland[{}]: refused", std::process::id()));
    }
}
