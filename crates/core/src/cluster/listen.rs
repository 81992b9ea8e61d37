//! Where agents listen: addresses or NICs, and TCP ports.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// The longest name of a network interface in bytes (`IFNAMSIZ` without the zero byte).
const MAX_NIC_NAME: usize = 15;

/// An address of a node on which its agent listens, or a NIC of which it listens on all addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAt {
    /// An address; `0.0.0.0` and `::` stand for all addresses.
    Address(IpAddr),
    /// The name of a NIC.
    Nic(String),
}

/// A text that names neither an address nor a NIC.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is neither an address nor the name of a NIC: write 10.1.0.3 or eth0")]
pub struct NotListened(String);

impl ListenAt {
    /// All addresses of a node, of IPv6 and of IPv4.
    pub const ALL: Self = Self::Address(IpAddr::V6(Ipv6Addr::UNSPECIFIED));

    /// The address that only processes of the same machine reach.
    pub const LOOPBACK: Self = Self::Address(IpAddr::V4(Ipv4Addr::LOCALHOST));
}

impl FromStr for ListenAt {
    type Err = NotListened;

    fn from_str(text: &str) -> Result<Self, NotListened> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse() {
            return Ok(Self::Address(address));
        }
        let is_name = |c: char| c.is_ascii_graphic() && !"/:,\"'\\$`".contains(c);
        let is_nic = text.chars().all(is_name)
            && (1..=MAX_NIC_NAME).contains(&text.len())
            && !text.starts_with(['-', '.'])
            // A mistyped address is no NIC.
            && !text.chars().all(|c| c.is_ascii_digit() || c == '.');
        if is_nic { Ok(Self::Nic(text.to_owned())) } else { Err(NotListened(text.to_owned())) }
    }
}

impl fmt::Display for ListenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Nic(name) => name.fmt(f),
        }
    }
}

/// The TCP ports on which an agent may listen; it takes the first one that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    first: u16,
    last: u16,
}

/// A text that is neither a port nor a range of ports.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no TCP port and no range: write 4100 or 4100-4199")]
pub struct NoPorts(String);

impl Ports {
    /// Any port that the kernel finds free.
    pub const ANY: Self = Self { first: 0, last: 0 };

    /// Returns the ports from `first` to `last`; `None` if there are none, or port 0 is one of
    /// several.
    pub fn from_bounds(first: u16, last: u16) -> Option<Self> {
        let is_valid = first <= last && (first > 0 || last == 0);
        is_valid.then_some(Self { first, last })
    }

    /// Returns the ports in the order in which they are tried; port 0 stands for any.
    pub fn numbers(self) -> RangeInclusive<u16> {
        self.first..=self.last
    }

    /// Returns whether the kernel chooses the port.
    pub fn is_any(self) -> bool {
        self == Self::ANY
    }
}

impl FromStr for Ports {
    type Err = NoPorts;

    fn from_str(text: &str) -> Result<Self, NoPorts> {
        let number = |text: &str| text.trim().parse::<u16>().ok();
        let ports = match text.split_once('-') {
            None => number(text).and_then(|port| Self::from_bounds(port, port)),
            Some((first, last)) => number(first)
                .zip(number(last))
                .and_then(|(first, last)| Self::from_bounds(first, last)),
        };
        ports.ok_or_else(|| NoPorts(text.to_owned()))
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => self.first.fmt(f),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

/// Implements the serialisation of a type as the text that it is printed as and parsed from.
macro_rules! serialise_as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

serialise_as_text!(ListenAt);
serialise_as_text!(Ports);

/// What a user says about where an agent listens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// The addresses and NICs; empty for those by which the agent is reached.
    #[serde(default)]
    pub listen: Vec<ListenAt>,
    /// The ports; `None` for any.
    #[serde(default)]
    pub port: Option<Ports>,
}

impl Listening {
    /// Returns this with what it leaves open taken from `other`.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let listen = if self.listen.is_empty() { &other.listen } else { &self.listen };
        Self { listen: listen.clone(), port: self.port.or(other.port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_nics_are_told_apart() {
        let parse = |text: &str| text.parse::<ListenAt>();
        let address = |text: &str| Ok(ListenAt::Address(text.parse().expect("an address")));
        assert_eq!(parse("10.1.0.3"), address("10.1.0.3"));
        assert_eq!(parse("[fd00::3]"), address("fd00::3"));
        assert_eq!(parse("::"), Ok(ListenAt::ALL));
        for nic in ["eth0", "enp3s0f1", "bond0.100", "lo"] {
            assert_eq!(parse(nic), Ok(ListenAt::Nic(nic.to_owned())), "{nic}");
        }
        for wrong in ["", "10.1.0", "10.1.0.300", "-eth0", "a/b", "a b", "sixteen-letters-", "$(x)"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ports_are_one_number_or_two() {
        let parse = |text: &str| text.parse::<Ports>().map(Ports::numbers);
        assert_eq!(parse("4100"), Ok(4100..=4100));
        assert_eq!(parse("4100-4199"), Ok(4100..=4199));
        assert_eq!("0".parse(), Ok(Ports::ANY));
        for wrong in ["", "x", "0-9", "5-4", "70000", "1-2-3", "-1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for text in ["4100", "4100-4199", "0"] {
            assert_eq!(text.parse::<Ports>().map(|ports| ports.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_is_said_for_a_node_goes_before_what_is_said_for_all() {
        let of = |listen: &[&str], port: Option<&str>| Listening {
            listen: listen.iter().map(|text| text.parse().expect("a NIC")).collect(),
            port: port.map(|text| text.parse().expect("ports")),
        };
        let all = of(&["eth0"], Some("4100"));
        assert_eq!(of(&[], None).or(&all), all);
        assert_eq!(of(&["ib0"], None).or(&all), of(&["ib0"], Some("4100")));
        assert_eq!(of(&[], Some("5000-5001")).or(&all), of(&["eth0"], Some("5000-5001")));
    }
}
