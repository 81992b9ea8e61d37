//! Reads the nodes of a cluster file: `nodes = "..."`, or one `[[nodes]]` section per kind of node.

use std::collections::HashMap;

use toml::de::DeValue;

use super::error::{ClusterFileProblem, Fault, MOST_RAILS};
use crate::cluster::inventory::Node;
use crate::cluster::listen::{ListenAt, Listening, Ports};
use crate::cluster::nodelist::MOST_NAMES;
use crate::form::{Alone, FormProblem, Section, Text, expand_text, position, text, wrong_kind};

/// Reads the nodes from the keys of `root`, in the order of the file. `file` is the file's text,
/// for positions in errors, and `all` applies to agents of which a section says nothing else.
pub(super) fn read_nodes(
    file: &str,
    root: &Section<'_>,
    all: &Listening,
) -> Result<Vec<Node>, Fault> {
    const KINDS: &str =
        "a node list such as \"n[01-20]\", or sections `[[nodes]]` in double brackets";
    // Without nodes the file says how any node is reached.
    let Some(value) = root.value("nodes") else { return Ok(Vec::new()) };
    let mut entries =
        Entries { file, all, nodes: Vec::new(), names: HashMap::new(), owners: HashMap::new() };
    match value.get_ref() {
        DeValue::String(_) => {
            let names = text("nodes".into(), value)?;
            entries.add(&Entry::named(names))?;
        }
        DeValue::Array(items) if !items.is_empty() => {
            for item in items.iter() {
                let DeValue::Table(table) = item.get_ref() else {
                    return Err(wrong_kind("nodes", KINDS, item).into());
                };
                let keys = ["names", "address", "rails", "rack", "listen", "port"];
                let section = Section::new("[[nodes]]", item.span(), table, &keys)?;
                entries.add(&Entry::read(&section)?)?;
            }
        }
        _ => return Err(wrong_kind("nodes", KINDS, value).into()),
    }
    Ok(entries.nodes)
}

/// One `[[nodes]]` section as written in the file, not expanded yet.
struct Entry<'t> {
    names: Text<'t>,
    address: Option<Text<'t>>,
    rails: Vec<Text<'t>>,
    rack: Option<String>,
    listen: Vec<Text<'t>>,
    port: Option<Ports>,
}

impl<'t> Entry<'t> {
    fn named(names: Text<'t>) -> Self {
        Self { names, address: None, rails: Vec::new(), rack: None, listen: Vec::new(), port: None }
    }

    fn read(section: &Section<'t>) -> Result<Self, Fault> {
        let rails = section.texts("rails")?;
        if let Some(beyond) = rails.get(MOST_RAILS) {
            return Err(beyond.fault(ClusterFileProblem::TooManyRails(rails.len())));
        }
        Ok(Self {
            names: section.needed_text("names", "`names = \"n[01-20]\"`")?,
            address: section.text("address")?,
            rails,
            rack: section.text("rack")?.map(|rack| rack.value.to_owned()),
            listen: section.one_or_more("listen")?,
            port: ports(section)?,
        })
    }
}

/// Reads the key `port`: a number, or a range in quotes.
pub(super) fn ports(section: &Section<'_>) -> Result<Option<Ports>, Fault> {
    if let Some(DeValue::String(_)) = section.value("port").map(|value| value.get_ref()) {
        return Ok(section.read("port", str::parse::<Ports>)?);
    }
    let port = section.integer("port", 1..=u32::from(u16::MAX))?;
    Ok(port
        .and_then(|port| u16::try_from(port).ok())
        .and_then(|port| Ports::from_bounds(port, port)))
}

/// Parses `value`, which is `text` or one of the values that it stands for.
pub(super) fn listen_at(text: &Text<'_>, value: &str) -> Result<ListenAt, Fault> {
    value.parse().map_err(|error: crate::cluster::listen::NotListened| {
        let problem = FormProblem::Value { key: text.key.clone(), reason: error.to_string() };
        text.fault(ClusterFileProblem::Form(problem))
    })
}

/// The nodes read so far, with indexes that detect duplicate names and addresses.
struct Entries<'t> {
    file: &'t str,
    /// What applies to agents of which a section says nothing else.
    all: &'t Listening,
    nodes: Vec<Node>,
    /// For each node name, the byte offset of its first description.
    names: HashMap<String, usize>,
    /// For each pair of address and port, the node that has it.
    owners: HashMap<(String, Option<Ports>), String>,
}

impl Entries<'_> {
    fn add(&mut self, entry: &Entry<'_>) -> Result<(), Fault> {
        let names = expand_text(self.file, &entry.names, &Alone("a cluster file"))?;
        if self.nodes.len() + names.len() > MOST_NAMES {
            return Err(entry.names.fault(ClusterFileProblem::TooManyNodes));
        }
        let address =
            entry.address.as_ref().map(|text| self.addresses(text, names.len())).transpose()?;
        let rails = entry.rails.iter().map(|text| self.addresses(text, names.len()));
        let rails: Vec<Vec<String>> = rails.collect::<Result<_, _>>()?;
        let listen = entry.listen.iter().map(|text| self.listen(text, names.len()));
        let listen: Vec<Vec<ListenAt>> = listen.collect::<Result<_, _>>()?;
        for (index, name) in names.into_iter().enumerate() {
            self.claim_name(&name, &entry.names)?;
            let own = Listening {
                listen: listen.iter().map(|values| values[index % values.len()].clone()).collect(),
                port: entry.port,
            };
            let mut node = Node {
                rack: entry.rack.clone(),
                listening: own.or(self.all),
                ..Node::named(&name)
            };
            if let Some(address) = &address {
                node.host.clone_from(&address[index]);
                node.addresses = vec![address[index].clone()];
            }
            if !rails.is_empty() {
                node.addresses = rails.iter().map(|rail| rail[index].clone()).collect();
            }
            let place = entry.rails.first().or(entry.address.as_ref()).unwrap_or(&entry.names);
            self.claim_addresses(&node, place)?;
            self.nodes.push(node);
        }
        Ok(())
    }

    /// Expands `text` to exactly `nodes` addresses without user names.
    fn addresses(&self, text: &Text<'_>, nodes: usize) -> Result<Vec<String>, Fault> {
        let addresses = expand_text(self.file, text, &Alone("a cluster file"))?;
        if addresses.len() != nodes {
            let key = text.key.clone();
            let found = addresses.len();
            return Err(text.fault(ClusterFileProblem::Count { key, found, nodes }));
        }
        if let Some((user, _)) = addresses.iter().find_map(|address| address.rsplit_once('@')) {
            let key = text.key.clone();
            let user = user.to_owned();
            return Err(text.fault(ClusterFileProblem::UserInAddress { key, user }));
        }
        Ok(addresses)
    }

    /// Expands `text` to one place for all nodes, such as a NIC, or one for each of `nodes`.
    fn listen(&self, text: &Text<'_>, nodes: usize) -> Result<Vec<ListenAt>, Fault> {
        let values = expand_text(self.file, text, &Alone("a cluster file"))?;
        if values.len() != 1 && values.len() != nodes {
            let key = text.key.clone();
            let found = values.len();
            return Err(text.fault(ClusterFileProblem::Count { key, found, nodes }));
        }
        values.iter().map(|value| listen_at(text, value)).collect()
    }

    fn claim_name(&mut self, name: &str, text: &Text<'_>) -> Result<(), Fault> {
        let Some(first) = self.names.insert(name.to_owned(), text.span.start) else {
            return Ok(());
        };
        let (line, _) = position(self.file, first);
        Err(text.fault(ClusterFileProblem::DuplicateNode { name: name.to_owned(), line }))
    }

    /// Refuses an address if an earlier node, or another rail of this node, has it with the same
    /// port. A repeated address is nearly always a typing error, and one of the two nodes would
    /// receive everything twice.
    fn claim_addresses(&mut self, node: &Node, text: &Text<'_>) -> Result<(), Fault> {
        let login = Some(&node.host).filter(|host| !node.addresses.contains(host));
        for address in login.into_iter().chain(&node.addresses) {
            let address = address.clone();
            let second = node.name.clone();
            if let Some(first) =
                self.owners.insert((address.clone(), node.listening.port), second.clone())
            {
                let problem = ClusterFileProblem::DuplicateAddress { address, first, second };
                return Err(text.fault(problem));
            }
        }
        Ok(())
    }
}
