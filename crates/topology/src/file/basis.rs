//! The nodes, the rate and the subnet of a topology.

use garland_core::form::{Alone, Section, expand_text, wrong_kind};
use toml::de::DeValue;

use super::error::Fault;
use super::values::rate;
use crate::shapes::Basis;
use crate::{MOST_NODES, Subnet, TopologyFault};

/// Reads the nodes, the rate and the subnet.
pub(super) fn read(file: &str, section: &Section<'_>, name: &str) -> Result<Basis, Fault> {
    let nodes = read_nodes(file, section, name)?;
    let subnet = section.read("subnet", str::parse::<Subnet>)?.unwrap_or_default();
    let count = nodes.nodes.len();
    if u32::try_from(count).map_or(true, |count| count > subnet.room()) {
        let message = format!(
            "{subnet} has addresses for {} nodes, but the topology has {count}: use a shorter prefix",
            subnet.room()
        );
        return Err(Fault::contents(section.span_of("subnet"), message));
    }
    Ok(Basis { rate: rate(section, "rate")?, subnet, ..nodes })
}

/// Reads the nodes, as a number or a node list, and checks that there are not too many.
fn read_nodes(file: &str, section: &Section<'_>, name: &str) -> Result<Basis, Fault> {
    const EXAMPLE: &str = "`nodes = \"n[0-3]\"`, or 3 for the head n0 and the nodes n1 to n3";
    let value = section.value("nodes").ok_or_else(|| section.missing("nodes", EXAMPLE))?;
    let too_many = |count: usize| Fault::new(value.span(), TopologyFault::too_many(count).into());
    let basis = match value.get_ref() {
        DeValue::Integer(_) => {
            let count = section.integer("nodes", 0..=u32::MAX)?.unwrap_or_default();
            match usize::try_from(count).ok().filter(|count| *count < MOST_NODES) {
                Some(_) => Basis::numbered(name, count),
                None => return Err(too_many(count as usize + 1)),
            }
        }
        DeValue::String(_) => {
            let text = section.needed_text("nodes", EXAMPLE)?;
            let names = expand_text(file, &text, &Alone("a topology file"))?;
            Basis::named(name, names)
        }
        _ => {
            let expected =
                "a node list such as \"n[0-3]\", or the number of nodes without the head n0";
            return Err(wrong_kind("nodes", expected, value).into());
        }
    };
    if basis.nodes.len() > MOST_NODES {
        return Err(too_many(basis.nodes.len()));
    }
    Ok(basis)
}
