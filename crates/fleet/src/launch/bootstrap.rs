//! What is run on a node to become its agent, and what it says meanwhile: one script for every
//! launcher that reaches a shell there.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use garland_protocol::{Preamble, Purpose, Secret};

use super::binary::{Binary, hexadecimal};

/// The script, readable.
const SCRIPT: &str = include_str!("bootstrap.sh");

/// A line of the script's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootstrapLine {
    /// It runs; Slurm's name of the node, and the address that an ssh came in at.
    At(Option<String>, Option<IpAddr>),
    /// The node hasn't got the binary and reads from the input where it comes from.
    Need {
        /// The node's processor.
        machine: String,
        /// The programs that it lacks to fetch the binary from another node.
        lacking: Option<String>,
    },
    /// The node that was told of didn't give the binary, and why.
    Unserved(String),
    /// No place takes the binary, and why.
    Refused(String),
    /// The agent ended with this status.
    Ended(String),
    /// Something that a login shell said, or the agent.
    Other,
}

impl BootstrapLine {
    /// Understands a line.
    pub fn parse(line: &str) -> Self {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.split_whitespace();
        match word {
            "AT" => {
                let node = words.next().filter(|node| *node != "-").map(str::to_owned);
                Self::At(node, words.nth(2).and_then(|address| address.parse().ok()))
            }
            "NEED" => Self::Need {
                machine: words.next().unwrap_or_default().to_owned(),
                lacking: words.next().filter(|programs| *programs != "-").map(str::to_owned),
            },
            "UNSERVED" => Self::Unserved(rest.trim().to_owned()),
            "REFUSED" => Self::Refused(rest.trim().to_owned()),
            "ENDED" => Self::Ended(rest.trim().to_owned()),
            _ => Self::Other,
        }
    }
}

/// The script in one line, without comments: nothing in it means anything to a shell that finds it
/// in single quotes.
pub fn script() -> String {
    let lines = SCRIPT.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join(" ")
}

/// What the script is given before the agent's arguments. `path` is where the user wants the binary
/// to be, and `others` are digests of other programs that may be there.
pub fn arguments(binary: &Binary, path: Option<&str>, others: &[String]) -> Vec<String> {
    let shared = binary.stamp.as_ref().and_then(|stamp| Some((utf8(&stamp.path)?, stamp)));
    let (shared, stamp) = match shared {
        Some((path, stamp)) => (path, stamp.length_and_time.clone()),
        None => ("-".to_owned(), "-".to_owned()),
    };
    // A login begins in the home folder, so what is under it needs no other name.
    let path = path.map_or("-", |path| path.strip_prefix("~/").unwrap_or(path)).to_owned();
    let others = if others.is_empty() { "-".to_owned() } else { others.join(",") };
    vec![binary.digest.clone(), binary.bytes.len().to_string(), path, shared, stamp, others]
}

fn utf8(path: &Path) -> Option<String> {
    path.to_str().filter(|path| quote(path).is_ok()).map(str::to_owned)
}

/// A word for the login shell of a node, whichever it is.
pub fn quote(word: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Ok(word.to_owned());
    }
    // What some shell takes for something else even in single quotes.
    match word.chars().find(|c| "'!\\".contains(*c) || c.is_control()) {
        None => Ok(format!("'{word}'")),
        Some(c) => Err(format!("{word:?} can't be passed through every login shell: it has {c:?}")),
    }
}

/// What goes before the binary itself, when the launcher sends it.
pub const SEND: &[u8] = b"SEND\n";

/// How long a node may take to connect to the one that gives it the binary: firewalls don't answer.
const CONNECT: Duration = Duration::from_secs(3);

/// A giver from which nothing has come for this long is given up, at the latest after twice as long.
const SILENCE: Duration = Duration::from_secs(4);

/// What the script is told for fetching the binary from the agent at `giver`: the ticket goes to
/// bash's input, where no other user of the node sees it.
pub fn fetch(giver: SocketAddr, ticket: &Secret, patience: Duration) -> String {
    let preamble: String = Preamble::ours(Purpose::Binary)
        .to_bytes()
        .iter()
        .map(|byte| format!("\\{byte:03o}"))
        .collect();
    format!(
        "PEER {}\nread -r y; (sleep {}; kill $$) >/dev/null 2>&1 </dev/null & w=$!; \
         exec 3<>/dev/tcp/{}/{} && kill $w && printf \"{preamble}\" >&3 && \
         printf %s \"$y\" >&3 && {{ (while o=$s; sleep {}; read -r _ s </proc/$$/io && [ \"$s\" ]; do \
         if [ \"$s\" = \"$o\" ]; then kill $$; fi; done) >/dev/null 2>&1 </dev/null 3>&- & \
         exec cat <&3; }}\n{}\n",
        patience.as_secs(),
        CONNECT.as_secs(),
        giver.ip(),
        giver.port(),
        SILENCE.as_secs(),
        hexadecimal(&ticket.0),
    )
}

/// The reason why no place on a node takes the binary, or has it.
pub fn refused(why: &str) -> String {
    let hint = match why.contains("it is another program") {
        true => "; remove it, or name its digest by `sha256` under [ssh] in the cluster file",
        false => "",
    };
    format!("no place on the node takes the binary: {why}{hint}")
}

/// Says why a node with another processor can't run this binary.
pub fn fits(binary: &Binary, machine: &str) -> Result<(), String> {
    if machine == binary.machine {
        return Ok(());
    }
    Err(format!(
        "the node is {machine}, this binary is for {}: install garland there and name its path by \
         `binary` and its digest by `sha256` under [ssh] in the cluster file",
        binary.machine
    ))
}

#[cfg(test)]
mod shells;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_passes_through_any_login_shell() {
        let script = script();
        assert!(quote(&script).is_ok_and(|quoted| quoted.starts_with('\'')), "{script}");
        assert!(script.len() < 8 << 10);
        let checked = std::process::Command::new("sh").args(["-n", "-c", &script]).output();
        let checked = checked.expect("a shell");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }

    #[test]
    fn words_are_quoted_only_where_they_must_be() {
        assert_eq!(quote("/opt/garland-0.1/bin"), Ok("/opt/garland-0.1/bin".to_owned()));
        assert_eq!(quote("/opt/my tools/$x"), Ok("'/opt/my tools/$x'".to_owned()));
        assert_eq!(quote(""), Ok("''".to_owned()));
        for bad in ["it's", "wow!", "a\\b", "a\nb"] {
            assert!(quote(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lines_are_understood() {
        let address = "10.0.0.2".parse().ok();
        assert_eq!(
            BootstrapLine::parse("AT - 10.0.0.1 50000 10.0.0.2 22"),
            BootstrapLine::At(None, address)
        );
        assert_eq!(BootstrapLine::parse("AT n7 -"), BootstrapLine::At(Some("n7".to_owned()), None));
        let need = |lacking: Option<&str>| BootstrapLine::Need {
            machine: "aarch64".to_owned(),
            lacking: lacking.map(str::to_owned),
        };
        assert_eq!(BootstrapLine::parse("NEED aarch64 -"), need(None));
        assert_eq!(BootstrapLine::parse("NEED aarch64 bash,timeout"), need(Some("bash,timeout")));
        let unserved = BootstrapLine::Unserved("0 of 9 bytes came".to_owned());
        assert_eq!(BootstrapLine::parse("UNSERVED 0 of 9 bytes came"), unserved);
        assert_eq!(
            BootstrapLine::parse("REFUSED /tmp: full"),
            BootstrapLine::Refused("/tmp: full".to_owned())
        );
        assert_eq!(BootstrapLine::parse("Welcome to n7!"), BootstrapLine::Other);
    }

    #[test]
    fn bash_says_the_preamble_and_the_ticket_and_nobody_sees_the_ticket() {
        let giver = "[fd00::3]:4000".parse().expect("an address");
        let told = fetch(giver, &Secret([0xab; 32]), Duration::from_secs(9));
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 3, "{told}");
        assert_eq!((lines[0], lines[2]), ("PEER 9", &*"ab".repeat(32)));
        let program = lines[1].replace("exec 3<>/dev/tcp/fd00::3/4000", "exec 3>&1");
        let program = program.replace("exec cat <&3", "true");
        assert!(!program.contains("abab"));
        let line = format!("echo {} | bash -c '{program}'", lines[2]);
        let said = std::process::Command::new("bash").args(["-c", &line]).output().expect("bash");
        let hello = [&Preamble::ours(Purpose::Binary).to_bytes()[..], lines[2].as_bytes()].concat();
        assert_eq!(said.stdout, hello, "{}", String::from_utf8_lossy(&said.stderr));
    }

    #[test]
    fn another_processor_is_refused_with_a_way_out() {
        let binary = Binary {
            bytes: vec![0; 3],
            digest: "00".to_owned(),
            machine: "x86_64".to_owned(),
            stamp: None,
        };
        assert_eq!(fits(&binary, "x86_64"), Ok(()));
        let error = fits(&binary, "aarch64").expect_err("it can't run");
        assert!(error.starts_with("the node is aarch64, this binary is for x86_64"), "{error}");
        let given = arguments(&binary, Some("~/bin/garland"), &["a".to_owned(), "b".to_owned()]);
        assert_eq!(given, ["00", "3", "bin/garland", "-", "-", "a,b"]);
        assert_eq!(arguments(&binary, None, &[])[5], "-");
    }
}
