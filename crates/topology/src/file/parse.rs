use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::error::{Fault, TopologyFileError, TopologyFileProblem};
use super::{overrides, price, shape};
use crate::shapes::Basis;
use crate::{MOST_NODES, Medium, MediumKind, Subnet, Topology, TopologyFault};
use garland_core::form::{Alone, Section, document, expand_text, wrong_kind};
use garland_core::units::{Nanos, Rate, bytes};

/// What a topology file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyFile {
    /// Its name.
    pub name: String,
    /// What is asked, in a scenario.
    pub question: Option<String>,
    /// Where the experiment comes from, in a scenario.
    pub source: Option<String>,
    /// What was answered, in a scenario.
    pub answer: Option<String>,
    /// The topology, which can be.
    pub topology: Topology,
}

/// The keys of the file; the last three belong to the experiment of a scenario.
const KEYS: [&str; 9] = [
    "version",
    "name",
    "question",
    "source",
    "answer",
    "topology",
    "job",
    "tolerance",
    "published",
];

/// The keys of `[topology]` whatever the shape.
pub(super) const TOPOLOGY_KEYS: [&str; 12] = [
    "shape",
    "nodes",
    "rate",
    "subnet",
    "mtu",
    "latency",
    "buffer",
    "collisions",
    "cable",
    "price",
    "node",
    "medium",
];

/// Reads the text of a [topology file](super); `file_name` is for messages, and for the topology's
/// name when the file gives none.
///
/// # Errors
/// [`TopologyFileError`] says what is wrong, where, and what is allowed.
pub fn parse(text: &str, file_name: &str) -> Result<TopologyFile, TopologyFileError> {
    read(text, file_name).map_err(|fault| fault.in_file(text, file_name))
}

fn read(text: &str, file_name: &str) -> Result<TopologyFile, Fault> {
    let document = document(text, "topology file")?;
    let root = Section::new("the topology file", 0..0, document.get_ref(), &KEYS)?;
    let word = |key| Ok::<_, Fault>(root.text(key)?.map(|text| text.value.trim().to_owned()));
    let last = file_name.rsplit('/').next().unwrap_or(file_name);
    let name = word("name")?.unwrap_or_else(|| last.trim_end_matches(".toml").to_owned());
    let Some((table, span)) = root.table_at("topology")? else {
        return Err(root
            .missing("topology", "a section `[topology]` with `shape` and `nodes`")
            .into());
    };
    let (section, topology) = shape::read(&Reader { text }, &name, span, table)?;
    topology.check().map_err(|fault| {
        Fault::new(place_of(&section, &fault), TopologyFileProblem::Fault(fault))
    })?;
    Ok(TopologyFile {
        name,
        question: word("question")?,
        source: word("source")?,
        answer: word("answer")?,
        topology,
    })
}

/// The key that a fault is most likely about.
fn place_of(section: &Section<'_>, fault: &TopologyFault) -> Range<usize> {
    let key = match fault {
        TopologyFault::NoNodes
        | TopologyFault::Alone(_)
        | TopologyFault::TooManyNodes(_)
        | TopologyFault::HostName(_)
        | TopologyFault::SameName { .. } => "nodes",
        TopologyFault::HubWithoutRate(_) | TopologyFault::NoRate(_) => "rate",
        _ => "shape",
    };
    section.span_of(key)
}

/// What the parts of the reader need to know of the file.
pub(super) struct Reader<'t> {
    /// The whole text.
    pub(super) text: &'t str,
}

impl Reader<'_> {
    /// Nodes, rate and addresses.
    pub(super) fn basis(&self, section: &Section<'_>, name: &str) -> Result<Basis, Fault> {
        let nodes = self.nodes(section, name)?;
        let subnet = section.read("subnet", str::parse::<Subnet>)?.unwrap_or_default();
        let count = nodes.nodes.len();
        if u32::try_from(count).map_or(true, |count| count > subnet.room()) {
            let problem = TopologyFileProblem::Narrow {
                subnet: subnet.to_string(),
                room: subnet.room(),
                nodes: count,
            };
            return Err(Fault::new(section.span_of("subnet"), problem));
        }
        Ok(Basis { rate: rate(section, "rate")?, subnet, ..nodes })
    }

    /// The nodes of a number or a list, no more than there can be.
    fn nodes(&self, section: &Section<'_>, name: &str) -> Result<Basis, Fault> {
        const EXAMPLE: &str = "`nodes = \"n[0-3]\"`, or 3 for n0 to n3";
        let value = section.value("nodes").ok_or_else(|| section.missing("nodes", EXAMPLE))?;
        let too_many = |count: usize| {
            let fault = TopologyFault::TooManyNodes(count);
            Fault::new(value.span(), TopologyFileProblem::Fault(fault))
        };
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
                let names = expand_text(self.text, &text, &Alone("a topology file"))?;
                Basis::named(name, names)
            }
            other => {
                let expected = "a node list such as \"n[0-3]\", or the number of nodes beside n0";
                return Err(wrong_kind("nodes", expected, other, value.span()).into());
            }
        };
        if basis.nodes.len() > MOST_NODES {
            return Err(too_many(basis.nodes.len()));
        }
        Ok(basis)
    }

    /// What may be said of all media and NICs, and then of some.
    pub(super) fn finish(
        &self,
        section: &Section<'_>,
        explicit: bool,
        topology: &mut Topology,
    ) -> Result<(), Fault> {
        // Written out, each NIC knows its own.
        if let Some(mtu) = mtu(section)?.filter(|_| !explicit) {
            topology.nics.iter_mut().for_each(|nic| nic.mtu = mtu);
        }
        let latency = section.read("latency", str::parse::<Nanos>)?;
        let buffer = section.read("buffer", bytes::parse)?;
        let cable = section.text("cable")?;
        let collisions = section.boolean("collisions")?;
        if let Some(collisions) = collisions
            && !set_collisions(&mut topology.media, collisions)
        {
            return Err(no_hub(section));
        }
        for medium in &mut topology.media {
            medium.latency = latency.unwrap_or(medium.latency);
            medium.buffer = buffer.or(medium.buffer);
            if let Some(cable) = &cable {
                cable.value.trim().clone_into(&mut medium.cable.kind);
            }
        }
        price::read(section, topology)?;
        overrides::read(self, section, explicit, topology)
    }
}

/// A rate.
pub(super) fn rate(section: &Section<'_>, key: &'static str) -> Result<Option<Rate>, Fault> {
    Ok(section.read(key, str::parse::<Rate>)?)
}

/// An MTU: from what every IPv4 host takes to what the header can say (RFC 791, 3.1).
pub(super) fn mtu(section: &Section<'_>) -> Result<Option<u16>, Fault> {
    let mtu = section.integer("mtu", 576..=65535)?;
    Ok(mtu.and_then(|mtu| u16::try_from(mtu).ok()))
}

/// Says of all hubs among these media whether stations collide; whether there is a hub.
pub(super) fn set_collisions(media: &mut [Medium], wanted: bool) -> bool {
    let mut found = false;
    for medium in media {
        if let MediumKind::Hub { collisions } = &mut medium.kind {
            (*collisions, found) = (wanted, true);
        }
    }
    found
}

/// Collisions where nothing can collide.
pub(super) fn no_hub(section: &Section<'_>) -> Fault {
    let (key, reason) = ("collisions", "only hubs have them; drop it");
    Fault::new(section.span_of(key), TopologyFileProblem::OutOfPlace { key, reason })
}
