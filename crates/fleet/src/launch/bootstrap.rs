//! The bootstrap script, which ssh and srun run on a node: it finds or fetches the program and
//! becomes the agent. Also parses the script's output, and creates the script's input.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use garland_protocol::wire::{Preamble, Purpose, Secret};

use super::binary::{Binary, hexadecimal};
use super::error::LaunchError;

/// The bootstrap script, with its comments.
const SCRIPT: &str = include_str!("bootstrap.sh");

/// The number of directories in which the script tries to store the program. It may ask for the
/// program for each of them.
pub const PLACES: usize = 3;

/// Why a node that asks more often is not started.
pub const ASKS_AGAIN: &str = "it asks for the program again and again";

/// A line of the script's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootstrapLine {
    /// The script has started. Contains Slurm's name of the node, if any, and the node's address in
    /// the ssh connection, if any.
    At(Option<String>, Option<IpAddr>),
    /// The node lacks the program, and waits for input with the program or its source.
    Need {
        /// The node's CPU architecture.
        machine: String,
        /// The commands that the node lacks for unpacking the program (gzip), and for fetching it
        /// from another node; none if it has all.
        missing: Option<String>,
    },
    /// The program could not be fetched from another node, for this reason.
    Unserved(String),
    /// The program can be neither run nor stored, for this reason.
    Refused(String),
    /// The agent ended with this status.
    Ended(String),
    /// Other output, of a login shell or the agent.
    Other,
}

impl BootstrapLine {
    /// Parses a line.
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
                missing: words.next().filter(|programs| *programs != "-").map(str::to_owned),
            },
            "UNSERVED" => Self::Unserved(rest.trim().to_owned()),
            "REFUSED" => Self::Refused(rest.trim().to_owned()),
            "ENDED" => Self::Ended(rest.trim().to_owned()),
            _ => Self::Other,
        }
    }
}

/// Returns the script as one line without comments. It has no characters that a shell treats
/// specially inside single quotes.
pub fn script() -> String {
    one_line(SCRIPT)
}

/// Returns a script as one line without comments.
pub fn one_line(script: &str) -> String {
    let lines = script.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join(" ")
}

/// Returns the script's own arguments, which precede the agent's. `path` is the user's path for the
/// program, and `others` are the digests of other programs that are accepted there.
pub fn arguments(binary: &Binary, path: Option<&str>, others: &[String]) -> Vec<String> {
    let shared = binary.stamp.as_ref().and_then(|stamp| Some((utf8(&stamp.path)?, stamp)));
    let (shared, stamp) = match shared {
        Some((path, stamp)) => (path, stamp.length_and_time.clone()),
        None => ("-".to_owned(), "-".to_owned()),
    };
    // A login begins in the home directory, so a path relative to it works.
    let path = path.map_or("-", |path| path.strip_prefix("~/").unwrap_or(path)).to_owned();
    let others = if others.is_empty() { "-".to_owned() } else { others.join(",") };
    vec![binary.digest.clone(), binary.length.to_string(), path, shared, stamp, others]
}

fn utf8(path: &Path) -> Option<String> {
    path.to_str().filter(|path| quote(path).is_ok()).map(str::to_owned)
}

/// Quotes a word so that every login shell passes it on unchanged.
///
/// # Errors
/// When no quoting works in all shells.
pub fn quote(word: &str) -> Result<String, LaunchError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Ok(word.to_owned());
    }
    // Special to some shell even in single quotes.
    match word.chars().find(|c| "'!\\".contains(*c) || c.is_control()) {
        None => Ok(format!("'{word}'")),
        Some(c) => {
            let why = "cannot be passed through all login shells: it contains";
            Err(LaunchError::Refused(format!("{word:?} {why} {c:?}")))
        }
    }
}

/// The line that precedes the program's bytes if the launcher sends them.
pub const SEND: &[u8] = b"SEND\n";

/// Timeout for a node to connect to the node that serves the program: a firewall may drop packets.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The interval at which a download is checked, and aborted if it made no progress.
const PROGRESS_CHECK_INTERVAL: Duration = Duration::from_secs(4);

/// Returns the script's input for fetching the program from the agent at `server` within
/// `patience`. The ticket is passed on bash's standard input, where other users of the node cannot
/// see it.
pub fn fetch(server: SocketAddr, ticket: &Secret, patience: Duration) -> String {
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
        CONNECT_TIMEOUT.as_secs(),
        server.ip(),
        server.port(),
        PROGRESS_CHECK_INTERVAL.as_secs(),
        hexadecimal(&ticket.0),
    )
}

/// Returns the error of a node that reported `REFUSED` with the reason `why`.
pub fn refused(why: &str) -> LaunchError {
    let hint = if why.contains("it is another program") {
        "; remove it, or add its digest to `sha256` under [ssh] in the cluster file"
    } else if why.contains("ermission denied") {
        "; if they are mounted noexec, name a path where programs may run, under [ssh] in the \
         cluster file: binary = \"/opt/garland\""
    } else {
        ""
    };
    LaunchError::Refused(format!("cannot install garland on the node: {why}{hint}"))
}

/// Fails if the node's CPU architecture is not that of this program, or if the node lacks what
/// unpacks it; `missing` are the commands that it lacks.
pub fn fits(binary: &Binary, machine: &str, missing: Option<&str>) -> Result<(), LaunchError> {
    if machine == binary.machine {
        let lacks = missing.is_some_and(|commands| commands.split(',').any(|name| name == "gzip"));
        return match lacks && binary.is_compressed() {
            true => Err("the node has no gzip, which unpacks the program; install it there".into()),
            false => Ok(()),
        };
    }
    Err(LaunchError::Refused(format!(
        "the node is {machine}, this program is for {}; install garland there, and set its path as \
         `binary` and its digest as `sha256` under [ssh] in the cluster file",
        binary.machine
    )))
}

#[cfg(test)]
mod shells;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_needs_no_escapes_in_any_login_shell() {
        let text = script();
        assert!(quote(&text).is_ok_and(|quoted| quoted.starts_with('\'')), "{text}");
        assert!(text.len() < 8 << 10);
        let checked = std::process::Command::new("sh").args(["-n", "-c", &text]).output();
        let checked = checked.expect("a shell");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }

    #[test]
    fn words_are_quoted_only_if_necessary() {
        assert_eq!(quote("/opt/garland-0.1/bin"), Ok("/opt/garland-0.1/bin".to_owned()));
        assert_eq!(quote("/opt/my tools/$x"), Ok("'/opt/my tools/$x'".to_owned()));
        assert_eq!(quote(""), Ok("''".to_owned()));
        for bad in ["it's", "wow!", "a\\b", "a\nb"] {
            assert!(quote(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lines_are_parsed() {
        let address = "10.0.0.2".parse().ok();
        assert_eq!(
            BootstrapLine::parse("AT - 10.0.0.1 50000 10.0.0.2 22"),
            BootstrapLine::At(None, address)
        );
        assert_eq!(BootstrapLine::parse("AT n7 -"), BootstrapLine::At(Some("n7".to_owned()), None));
        let need = |missing: Option<&str>| BootstrapLine::Need {
            machine: "aarch64".to_owned(),
            missing: missing.map(str::to_owned),
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
    fn bash_sends_the_preamble_and_the_ticket_and_its_arguments_lack_the_ticket() {
        let server = "[fd00::3]:4000".parse().expect("an address");
        let input = fetch(server, &Secret([0xab; 32]), Duration::from_secs(9));
        let lines: Vec<&str> = input.lines().collect();
        assert_eq!(lines.len(), 3, "{input}");
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
    fn where_no_program_may_run_the_option_that_names_another_place_is_told() {
        let hint = "under [ssh] in the cluster file: binary = \"/opt/garland\"";
        let why = "/u/a/.cache/garland/h-1: Permission denied; /tmp/garland-a: Permission denied";
        assert!(refused(why).to_string().ends_with(hint), "{}", refused(why));
        assert!(
            !refused("/tmp: only 3 of 9 bytes could be written").to_string().contains("binary")
        );
    }

    #[test]
    fn another_architecture_is_refused_with_a_hint() {
        let binary = Binary::from_bytes(vec![0; 3], "00".to_owned(), "x86_64");
        assert_eq!(fits(&binary, "x86_64", Some("gzip,bash")), Ok(()), "it is not compressed");
        let error = fits(&binary, "aarch64", None).expect_err("it cannot run").to_string();
        assert!(error.starts_with("the node is aarch64, this program is for x86_64"), "{error}");
        let given = arguments(&binary, Some("~/bin/garland"), &["a".to_owned(), "b".to_owned()]);
        assert_eq!(given, ["00", "3", "bin/garland", "-", "-", "a,b"]);
        assert_eq!(arguments(&binary, None, &[])[5], "-");
    }
}
