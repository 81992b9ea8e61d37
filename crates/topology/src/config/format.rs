//! The configuration formats.

/// A network configuration tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Debian's ifup and ifdown, interfaces(5).
    Ifupdown,
    /// systemd-networkd.
    Networkd,
    /// Netplan, rendered by systemd-networkd.
    Netplan,
    /// NetworkManager's keyfiles.
    NetworkManager,
    /// A shell script of `ip` commands.
    Iproute2,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] =
        [Self::Ifupdown, Self::Networkd, Self::Netplan, Self::NetworkManager, Self::Iproute2];

    /// Returns the format's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ifupdown => "ifupdown",
            Self::Networkd => "networkd",
            Self::Netplan => "netplan",
            Self::NetworkManager => "networkmanager",
            Self::Iproute2 => "iproute2",
        }
    }
}
