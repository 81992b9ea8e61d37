use thiserror::Error;

/// Why a text is no quantity; every message holds the text and says what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// The text isn't a number followed by a unit of bytes.
    #[error(
        "`{text}` isn't an amount of bytes: write a number and one of B, K, KiB, M, MiB, G, GiB, T, TiB, P, PiB \
         (steps of 1024) or kB, MB, GB, TB, PB (steps of 1000)"
    )]
    Bytes {
        /// The text as given, shortened when it is long.
        text: String,
    },
    /// The text isn't a number followed by a unit of rate.
    #[error(
        "`{text}` isn't a rate: write a number and one of bit, kbit, mbit, gbit, tbit (each with or without /s) \
         or B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s"
    )]
    Rate {
        /// The text as given, shortened when it is long.
        text: String,
    },
    /// The unit means bits to some tools and bytes to others.
    #[error(
        "the unit of `{text}` may mean bits or bytes: write `gbit`, `mbit`, `kbit` for bits or `MB/s` for bytes"
    )]
    Ambiguous {
        /// The text as given, shortened when it is long.
        text: String,
    },
    /// The text isn't a number followed by a unit of time.
    #[error("`{text}` isn't a time: write a number and one of ns, us, ms, s")]
    Time {
        /// The text as given, shortened when it is long.
        text: String,
    },
    /// The quantity doesn't fit 64 bits.
    #[error("`{text}` is too large: the most is {most}")]
    TooLarge {
        /// The text as given, shortened when it is long.
        text: String,
        /// The largest quantity of this kind, as it would be printed.
        most: String,
    },
}

/// At most 40 characters of the offending text, so that a message stays a line.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}
