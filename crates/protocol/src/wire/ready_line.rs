//! The line with which an agent reports that it is ready.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::wire::PublicKey;

/// The line that an agent prints on its standard output when it accepts connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyLine {
    /// The port that the agent listens on.
    pub port: u16,
    /// The addresses that the agent listens at; an unspecified one stands for all. None if the line
    /// does not tell.
    pub at: Vec<IpAddr>,
    /// The public key of the agent.
    pub key: PublicKey,
    /// The release of the agent.
    pub release: String,
    /// The log file on the agent's host; `None` unless the agent is a standing one. The line
    /// contains the path in UTF-8.
    pub log: Option<PathBuf>,
}

/// The most bytes of a release's name: it is an agent's word, which records and results keep.
const RELEASE_MAX: usize = 64;

impl ReadyLine {
    const WORD: &str = "garland-agent";

    /// What precedes the addresses.
    const AT: &str = "at=";

    /// Parses a line of an agent's output; `None` if the line is not a ready line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        if words.next()? != Self::WORD {
            return None;
        }
        let release = words.next()?;
        let release = release[..release.floor_char_boundary(RELEASE_MAX)].to_owned();
        let port = words.next()?.parse().ok()?;
        let hex = words.next()?;
        let mut key = [0; 32];
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
        }
        // The rest of the line: a path may have spaces.
        let mut rest = line.trim_end().split_once(hex).map_or("", |(_, rest)| rest.trim_start());
        let mut at = Vec::new();
        if let Some(addresses) = rest.strip_prefix(Self::AT) {
            let (addresses, behind) = addresses.split_once(' ').unwrap_or((addresses, ""));
            at = addresses.split(',').map_while(|address| address.parse().ok()).collect();
            rest = behind.trim_start();
        }
        let log = Some(rest).filter(|path| path.starts_with('/')).map(PathBuf::from);
        Some(Self { port, at, key, release, log })
    }
}

impl std::fmt::Display for ReadyLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} ", Self::WORD, self.release, self.port)?;
        self.key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        for (index, address) in self.at.iter().enumerate() {
            let before = if index == 0 { format!(" {}", Self::AT) } else { ",".to_owned() };
            write!(f, "{before}{address}")?;
        }
        self.log.iter().try_for_each(|log| write!(f, " {}", log.to_string_lossy()))
    }
}
