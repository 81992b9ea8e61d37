//! Units of processor power, and the powers of nodes.

use std::str::FromStr;

use super::node::NodeAccount;

/// A unit of processor power.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Unit {
    /// CPU clocks in MHz if the clocks of all nodes are known, otherwise the number of CPU cores.
    #[default]
    Usual,
    /// CPU clocks in MHz, added over cores; the number of CPU cores if a clock is unknown.
    Clock,
    /// Number of CPU cores.
    Cores,
    /// The power of one core of the first node in a unit with this name. The power of other cores
    /// is in proportion to their speed.
    Named(f64, String),
}

/// Parses a unit: `MHz`, `cores`, or the power of one core with the unit's name, such as `300MHz`
/// or `1.5 horsepower`.
impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("mhz") {
            return Ok(Self::Clock);
        }
        if text.eq_ignore_ascii_case("cores") {
            return Ok(Self::Cores);
        }
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let number = text[..end].parse::<f64>();
        let name = text[end..].trim();
        let plain = name.chars().all(|c| c.is_alphanumeric() || c == ' ' || c == '/');
        match number {
            Ok(number) if number > 0.0 && number.is_finite() && plain && !name.is_empty() => {
                Ok(Self::Named(number, name.to_owned()))
            }
            _ => Err(format!(
                "{text:?} is not a unit of power; write MHz, cores, or the power of a core, such as 300MHz"
            )),
        }
    }
}

/// The nodes' powers and their unit.
#[derive(Clone, Debug)]
pub struct Powers {
    /// The unit's name.
    pub unit: String,
    /// The power of each node, in the order of the nodes.
    pub each: Vec<f64>,
}

impl Unit {
    /// Returns the powers of `members`. They are in cores if the unit is MHz and the clock of a
    /// node is unknown.
    pub fn of(&self, members: &[NodeAccount]) -> Powers {
        let clocks: Option<Vec<f64>> = members.iter().map(|one| one.mhz).collect();
        let cores = |one: &NodeAccount| f64::from(one.slots) * one.share;
        let by_clock = |clocks: Vec<f64>| {
            members.iter().zip(clocks).map(|(one, clock)| cores(one) * clock).collect()
        };
        let (unit, each) = match (self, clocks) {
            (Self::Usual | Self::Clock, Some(clocks)) => ("MHz".to_owned(), by_clock(clocks)),
            (Self::Usual | Self::Clock, None) | (Self::Cores, _) => {
                ("cores".to_owned(), members.iter().map(cores).collect())
            }
            (Self::Named(number, name), _) => {
                let first = members.first().map_or(1.0, |one| one.share * one.speed());
                let each = members
                    .iter()
                    .map(|one| number * f64::from(one.slots) * one.share * one.speed() / first)
                    .collect();
                (name.clone(), each)
            }
        };
        Powers { unit, each }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_parsed_or_refused() {
        assert_eq!("mhz".parse(), Ok(Unit::Clock));
        assert_eq!("cores".parse(), Ok(Unit::Cores));
        assert_eq!("300MHz".parse(), Ok(Unit::Named(300.0, "MHz".to_owned())));
        assert_eq!("1.5 PC".parse(), Ok(Unit::Named(1.5, "PC".to_owned())));
        for wrong in ["", "300", "0MHz", "-1MHz", "MHz300", "1.2.3MHz", "3\u{7}"] {
            assert!(wrong.parse::<Unit>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_named_unit_is_relative_to_the_first_node_and_clocks_must_all_be_known() {
        let member = |share, mhz| NodeAccount { share, mhz, ..NodeAccount::new("n", 1) };
        let members = [member(0.2, Some(2000.0)), member(0.4, Some(2000.0))];
        let named = Unit::Named(300.0, "MHz".to_owned()).of(&members);
        assert_eq!(named.each, [300.0, 600.0]);
        assert_eq!(Unit::Usual.of(&members).each, [400.0, 800.0]);
        let some = [member(1.0, Some(2000.0)), member(1.0, None)];
        assert_eq!(Unit::Usual.of(&some).unit, "cores");
        assert_eq!(Unit::Clock.of(&some).unit, "cores");
    }
}
