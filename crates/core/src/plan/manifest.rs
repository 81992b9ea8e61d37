//! Manifests: short TOML files beside every stripe that describe the striped file.
//!
//! ```
//! # use garland_core::plan::Manifest;
//! # let text = r#"
//! version = 1                # of this format
//! set = "0f2e4d6c8a0b1c2d3e4f5061728394a5" # the same for all stripes of one copy
//! written = 1774000000       # seconds since 1970-01-01
//! name = "model.bin"         # name of the copied file
//! size = 10000               # its length in bytes
//! mode = 0o644               # its permissions
//! modified = [1773000000, 5] # its modification time: seconds since 1970-01-01, nanoseconds
//! unit = 4096                # bytes per unit; units alternate between servers
//! block = 4096               # bytes per block; each block has a digest
//! stripe = 1                 # number of this stripe, from 1
//!
//! [[servers]]                # in the order of the units: the first server has the first unit
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
//! A stripe's digest is the BLAKE3 digest of the BLAKE3 digests of its blocks, in their order.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

use super::{Layout, Stripe, Stripes, StripesError};

/// The version of the format.
const VERSION: u32 = 1;

/// The manifest of a stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The identity of the copy, the same for all its stripes.
    pub set: [u8; 16],
    /// The time of the copy, in seconds since 1970-01-01.
    pub written: i64,
    /// The name of the copied file.
    pub name: String,
    /// The file's permission bits.
    pub mode: u32,
    /// The file's modification time: seconds since 1970-01-01, nanoseconds.
    pub modified: (i64, u32),
    /// How the file is distributed over the servers.
    pub stripes: Stripes,
    /// The file's division into blocks.
    pub layout: Layout,
    /// The servers, in the order of their units.
    pub servers: Vec<StripeServer>,
    /// The number of the stripe that the manifest describes, from 0.
    pub number: u16,
}

/// A server and the digest of its stripe.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct StripeServer {
    /// The name of the server in the node list.
    pub name: String,
    /// The digest of the server's stripe.
    #[serde(deserialize_with = "hex")]
    pub digest: [u8; 32],
}

/// The error for an invalid manifest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// The text is not TOML, or keys are missing.
    #[error("{0}")]
    Toml(String),
    /// The manifest has this version, which is not supported.
    #[error("version {0} is not supported: this garland reads version {VERSION}")]
    Version(u32),
    /// The stripes or blocks are impossible.
    #[error("{0}")]
    Stripes(#[from] StripesError),
    /// The stripe's number (first value) is 0 or exceeds the number of servers (second value).
    #[error("stripe {0} does not exist: there are {1} servers")]
    Number(u16, u16),
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Deserialize)]
struct ManifestFile {
    #[serde(deserialize_with = "hex")]
    set: [u8; 16],
    written: i64,
    name: String,
    size: u64,
    mode: u32,
    modified: (i64, u32),
    unit: u64,
    block: u32,
    stripe: u16,
    servers: Vec<StripeServer>,
}

impl Manifest {
    /// Parses a manifest. Unknown keys are ignored, for later releases.
    ///
    /// # Errors
    /// If the text is not a manifest, has another version, or describes impossible stripes.
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
        Ok(Self {
            set: form.set,
            written: form.written,
            name: form.name,
            mode: form.mode & 0o7777,
            modified: (form.modified.0, form.modified.1.min(999_999_999)),
            layout: stripes.layout(form.block)?,
            stripes,
            servers: form.servers,
            number,
        })
    }

    /// Returns the stripe that the manifest describes.
    pub fn stripe(&self) -> Stripe {
        self.stripes.stripe(self.number)
    }

    /// Returns whether both manifests describe the same copy: they are equal, except for the number
    /// of the stripe.
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
        writeln!(
            f,
            "# Units of {unit} bytes alternate between the servers. To join them with dd:"
        )?;
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

/// Deserializes a hexadecimal number of exactly `N` bytes.
fn hex<'de, D: Deserializer<'de>, const N: usize>(from: D) -> Result<[u8; N], D::Error> {
    let text = String::deserialize(from)?;
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let shown: String = text.chars().take(80).collect();
        return Err(de::Error::custom(format!(
            "`{shown}` is not a hexadecimal number of {N} bytes"
        )));
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(de::Error::custom)?;
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
    fn impossible_manifests_are_refused_with_a_reason() {
        let text = manifest().to_string();
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from));
            Manifest::parse(&text.replace(from, to)).unwrap_err().to_string()
        };
        insta::assert_snapshot!(refused("version = 1", "version = 2"), @"version 2 is not supported: this garland reads version 1");
        insta::assert_snapshot!(refused("stripe = 2", "stripe = 3"), @"stripe 3 does not exist: there are 2 servers");
        insta::assert_snapshot!(refused("stripe = 2", "stripe = 0"), @"stripe 0 does not exist: there are 2 servers");
        insta::assert_snapshot!(refused("block = 4096", "block = 0"), @"stripe units of 4096 bytes cannot be divided into blocks of 0 bytes: use a block size that divides the unit");
        insta::assert_snapshot!(refused("unit = 4096", "unit = 5"), @"the stripe unit is 5 bytes: use a multiple of 4 KiB up to 4 GiB");
        assert!(refused(&"07".repeat(16), "07").contains("not a hexadecimal number of 16 bytes"));
        insta::assert_snapshot!(refused("size = 10000", "size = 9223372036854775807"), @"9223372036854775807 bytes are more than 16777216 blocks of 4096 bytes");
        assert!(refused("size = 10000", "").contains("missing field `size`"));
        assert!(Manifest::parse("").is_err());
    }
}
