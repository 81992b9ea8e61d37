//! The manifest that lies beside every stripe: a few lines of TOML that say what it is a stripe of.
//!
//! ```
//! # use garland_core::plan::Manifest;
//! # let text = r#"
//! version = 1                # of this format
//! set = "0f2e4d6c8a0b1c2d3e4f5061728394a5" # the same beside every stripe of one copy
//! written = 1774000000       # seconds since the start of 1970
//! name = "model.bin"         # what was copied
//! size = 10000               # its bytes
//! mode = 0o644               # its permissions
//! modified = [1773000000, 5] # when it was modified: seconds since 1970, nanoseconds
//! unit = 4096                # bytes that lie together on one server
//! block = 4096               # bytes that are digested together
//! stripe = 1                 # which of the servers' this is
//!
//! [[servers]]                # in the order of the units: the first unit is on the first
//! name = "io1"
//! digest = "1111111111111111111111111111111111111111111111111111111111111111"
//!
//! [[servers]]
//! name = "io2"
//! digest = "2222222222222222222222222222222222222222222222222222222222222222"
//! # "#;
//! # let manifest = Manifest::parse(text)?;
//! # assert_eq!(manifest.stripe().suffix(), ".stripe-1of2");
//! # assert_eq!(Manifest::parse(&manifest.to_string())?, manifest);
//! # Ok::<(), garland_core::plan::ManifestError>(())
//! ```
//!
//! A stripe's digest is the BLAKE3 of the BLAKE3s of its blocks, in their order.

use std::fmt;

use serde::Deserialize;
use thiserror::Error;

use super::{Layout, Stripe, Stripes, StripesError};

/// The version of the format.
const VERSION: u32 = 1;

/// What lies beside one stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Which copy wrote it: the same beside all its stripes.
    pub set: [u8; 16],
    /// When, in seconds since the start of 1970.
    pub written: i64,
    /// The name of the file that was copied.
    pub name: String,
    /// Its permission bits.
    pub mode: u32,
    /// When it was modified: seconds and nanoseconds.
    pub modified: (i64, u32),
    /// How it lies on the servers.
    pub stripes: Stripes,
    /// How it is cut into blocks.
    pub layout: Layout,
    /// The servers in their order.
    pub servers: Vec<StripeServer>,
    /// Whose stripe lies beside it, from 0.
    pub number: u16,
}

/// A server and what its stripe must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeServer {
    /// The node's name.
    pub name: String,
    /// Its stripe's digest.
    pub digest: [u8; 32],
}

/// Why a text is no manifest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// It isn't the TOML that it should be.
    #[error("{0}")]
    Toml(String),
    /// It is of another version.
    #[error("version {0}, and this Garland reads {VERSION}")]
    Version(u32),
    /// A digest or the set's identity isn't hexadecimal of the right length.
    #[error("`{0}` is no hexadecimal number of {1} bytes")]
    Hex(String, usize),
    /// The numbers can't be.
    #[error("{0}")]
    Stripes(#[from] StripesError),
    /// The stripe's number isn't one of the servers'.
    #[error("stripe {0} of {1} servers")]
    Number(u16, u16),
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Deserialize)]
struct ManifestFile {
    set: String,
    written: i64,
    name: String,
    size: u64,
    mode: u32,
    modified: (i64, u32),
    unit: u64,
    block: u32,
    stripe: u16,
    servers: Vec<Server>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
    digest: String,
}

impl Manifest {
    /// Reads a manifest. Keys that it doesn't know are for later releases.
    ///
    /// # Errors
    /// When it is none, or of another version, or its numbers can't be.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let toml = |error: toml::de::Error| {
            ManifestError::Toml(error.to_string().trim_end().replace('\n', " "))
        };
        let Version { version } = toml::from_str(text).map_err(toml)?;
        if version != VERSION {
            return Err(ManifestError::Version(version));
        }
        let form: ManifestFile = toml::from_str(text).map_err(toml)?;
        let stripes = Stripes::new(form.size, form.unit, form.servers.len())?;
        let number = form.stripe.wrapping_sub(1);
        if number >= stripes.servers {
            return Err(ManifestError::Number(form.stripe, stripes.servers));
        }
        let server = |server: Server| {
            Ok(StripeServer { name: server.name, digest: from_hex(&server.digest)? })
        };
        Ok(Self {
            set: from_hex(&form.set)?,
            written: form.written,
            name: form.name,
            mode: form.mode & 0o7777,
            modified: (form.modified.0, form.modified.1.min(999_999_999)),
            layout: stripes.layout(form.block)?,
            stripes,
            servers: form.servers.into_iter().map(server).collect::<Result<_, ManifestError>>()?,
            number,
        })
    }

    /// The stripe that it lies beside.
    #[must_use]
    pub fn stripe(&self) -> Stripe {
        self.stripes.stripe(self.number)
    }

    /// Whether both are of one copy and say the same of it.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        Self { number: 0, ..self.clone() } == Self { number: 0, ..other.clone() }
    }
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| toml::Value::from(text);
        let Stripes { length, unit, servers } = self.stripes;
        let (seconds, nanos) = self.modified;
        writeln!(f, "# Stripe {} of {servers}, written by garland cp --stripe.", self.number + 1)?;
        writeln!(f, "# Units of {unit} bytes go round the servers in their order: with dd alone,")?;
        writeln!(f, "# unit u of the file is unit u / {servers} of stripe u % {servers} + 1.\n")?;
        writeln!(f, "version = {VERSION}")?;
        writeln!(f, "set = \"{}\"", to_hex(&self.set))?;
        writeln!(f, "written = {}", self.written)?;
        writeln!(f, "name = {}", quoted(&self.name))?;
        writeln!(f, "size = {length}")?;
        writeln!(f, "mode = 0o{:o}", self.mode)?;
        writeln!(f, "modified = [{seconds}, {nanos}]")?;
        writeln!(f, "unit = {unit}")?;
        writeln!(f, "block = {}", self.layout.block_size)?;
        writeln!(f, "stripe = {}", self.number + 1)?;
        for server in &self.servers {
            writeln!(f, "\n[[servers]]")?;
            writeln!(f, "name = {}", quoted(&server.name))?;
            writeln!(f, "digest = \"{}\"", to_hex(&server.digest))?;
        }
        Ok(())
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex<const N: usize>(text: &str) -> Result<[u8; N], ManifestError> {
    let wrong = || ManifestError::Hex(text.chars().take(80).collect(), N);
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let stripes = Stripes::new(10_000, 4096, 2).unwrap();
        let server = |name: &str, byte| StripeServer { name: name.to_owned(), digest: [byte; 32] };
        Manifest {
            set: [7; 16],
            written: 1_774_000_000,
            name: "a \"b\"\n".to_owned(),
            mode: 0o640,
            modified: (-5, 7),
            stripes,
            layout: stripes.layout(4096).unwrap(),
            servers: vec![server("io1", 1), server("io2", 2)],
            number: 1,
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        assert_eq!(Manifest::parse(&manifest().to_string()), Ok(manifest()));
        assert!(manifest().agrees(&Manifest { number: 0, ..manifest() }));
        assert!(!manifest().agrees(&Manifest { mode: 0, ..manifest() }));
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        let text = manifest().to_string();
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from));
            Manifest::parse(&text.replace(from, to)).unwrap_err().to_string()
        };
        insta::assert_snapshot!(refused("version = 1", "version = 2"), @"version 2, and this Garland reads 1");
        insta::assert_snapshot!(refused("stripe = 2", "stripe = 3"), @"stripe 3 of 2 servers");
        insta::assert_snapshot!(refused("stripe = 2", "stripe = 0"), @"stripe 0 of 2 servers");
        insta::assert_snapshot!(refused("block = 4096", "block = 0"), @"blocks of 0 bytes don't fit into stripe units of 4096: a unit must have a whole number of them");
        insta::assert_snapshot!(refused("unit = 4096", "unit = 5"), @"a stripe unit of 5 bytes: allowed are 4 KiB to 4 GiB in steps of 4 KiB");
        assert!(refused(&"07".repeat(16), "07").contains("no hexadecimal number of 16 bytes"));
        assert!(refused("size = 10000", "").contains("missing field `size`"));
        assert!(Manifest::parse("").is_err());
    }
}
