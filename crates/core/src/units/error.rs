use thiserror::Error;

/// The error for an invalid quantity. It contains the text, shortened if long; the message says
/// which form is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// The text is not a number with a unit of bytes.
    #[error(
        "`{0}` is not a number of bytes: write a number and one of B, K, KiB, M, MiB, G, GiB, T, TiB, P, PiB \
         (steps of 1024) or kB, MB, GB, TB, PB (steps of 1000)"
    )]
    Bytes(String),
    /// The text is not a number with a unit of rate.
    #[error(
        "`{0}` is not a rate: write a number and one of bit, kbit, mbit, gbit, tbit (each with or without /s) \
         or B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s"
    )]
    Rate(String),
    /// The unit means bits in some tools and bytes in others.
    #[error(
        "the unit of `{0}` can mean bits or bytes: write `gbit`, `mbit`, `kbit` for bits or `MB/s` for bytes"
    )]
    Ambiguous(String),
    /// The text is not a number with a unit of time.
    #[error("`{0}` is not a time: write a number and one of ns, us, ms, s, min, h")]
    Time(String),
    /// The quantity does not fit in 64 bits.
    #[error("`{text}` is too large: the maximum is {most}")]
    TooLarge {
        /// The text as given, shortened if long.
        text: String,
        /// The largest quantity of this kind, formatted.
        most: String,
    },
}

/// Returns at most 40 characters of the text, so that messages fit on a line.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}
