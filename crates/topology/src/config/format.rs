//! The configuration formats.

/// A network configuration tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Debian's ifup and ifdown, interfaces(5).
    Ifupdown,
    /// systemd-networkd.
    Networkd,
    /// NetworkManager's keyfiles.
    NetworkManager,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Ifupdown, Self::Networkd, Self::NetworkManager];

    /// Returns the format's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ifupdown => "ifupdown",
            Self::Networkd => "networkd",
            Self::NetworkManager => "networkmanager",
        }
    }
}
