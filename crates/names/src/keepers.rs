//! The standing agents that keep names: three of them have all names, and each of them is enough.

use std::collections::BTreeMap;

use garland_control::{Agent, ask_names};
use garland_core::cluster::Node;
use garland_fleet::args::DEFAULT_LAB;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::launch::lab;
use garland_fleet::standing::Standing;
use garland_lab::Lab;
use garland_protocol::operation::NamesAnswer;
use garland_protocol::{
    NameEntry, NameHolder, NameManifest, NamesOrder, Secret, check_name, content_digest,
};
use garland_results::places::Places;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

use crate::access::Access;

/// The number of agents that keep the names.
const KEEPERS: usize = 3;

/// The agents that keep names.
pub struct Keepers<'a> {
    access: &'a Access,
    /// Those that can be keepers, in the order of their names.
    standing: Vec<Standing>,
    /// The number of `standing` that were asked to be keepers.
    tried: usize,
    nodes: Vec<String>,
    agents: Vec<Result<Agent, String>>,
    interrupts: &'a Interrupts,
}

/// Enters the lab `asked`, or that of the standing agents if no real node has one. Returns the lab, whose agents
/// keep the names.
pub fn enter(places: &Places, asked: Option<&str>) -> Result<Option<Lab>, Failure> {
    let nodes = garland_commands::status::standing_nodes(places, asked)?;
    enter_of(places, asked, &nodes)
}

/// Enters the lab of `nodes`, if they are nodes of a lab.
pub fn enter_of(
    places: &Places,
    asked: Option<&str>,
    nodes: &[Node],
) -> Result<Option<Lab>, Failure> {
    lab::enter(nodes, places, asked.unwrap_or(DEFAULT_LAB), None)
}

impl<'a> Keepers<'a> {
    /// Connects to the first standing agents that answer.
    pub fn open(access: &'a Access, interrupts: &'a Interrupts) -> Result<Self, Failure> {
        Self::among(access.standing().to_vec(), access, interrupts)
    }

    /// Connects to the first of `standing` that answer.
    fn among(
        standing: Vec<Standing>,
        access: &'a Access,
        interrupts: &'a Interrupts,
    ) -> Result<Self, Failure> {
        let (nodes, agents) = (Vec::new(), Vec::new());
        let mut keepers = Self { access, standing, tried: 0, nodes, agents, interrupts };
        while keepers.agents.len() < KEEPERS && keepers.tried < keepers.standing.len() {
            keepers.connect(KEEPERS - keepers.agents.len());
        }
        if keepers.agents.is_empty() {
            return Err(Failure::nothing("no standing agent answers, which could keep names")
                .hint("start some with `garland up NODES`; three of them keep the names"));
        }
        Ok(keepers)
    }

    /// Connects to up to `count` more of the standing agents.
    fn connect(&mut self, count: usize) {
        let next = &self.standing[self.tried..];
        let next = &next[..count.min(next.len())];
        let connected = at_once(next, ASKED, |record| record.connect(self.access.keys()));
        for (record, agent) in next.iter().zip(connected) {
            if let Ok(agent) = agent {
                self.nodes.push(record.name.clone());
                self.agents.push(Ok(agent));
            }
        }
        self.tried += next.len();
    }

    /// Returns the key that signs records.
    ///
    /// # Errors
    /// When this machine may not change names.
    pub fn signer(&self) -> Result<&'a Secret, Failure> {
        self.access.signer()
    }

    /// Returns the entry of `name`; `None` if there is no such name, or it has ended.
    pub fn find(&mut self, name: &str) -> Result<Option<NameEntry>, Failure> {
        check_name(name).map_err(Failure::usage)?;
        let mut found = self.all(Some(name))?;
        if !found.contains_key(name) {
            // All keepers may have changed since it was published.
            self.connect(usize::MAX);
            found = self.all(Some(name))?;
        }
        Ok(found.remove(name).filter(|entry| entry.record.content().is_some()))
    }

    /// Returns the entries of `name` or of all names, also of those that have ended, by name. Keepers that lack a
    /// newer one get it.
    pub fn all(&mut self, name: Option<&str>) -> Result<BTreeMap<String, NameEntry>, Failure> {
        let answers = self.ask(&NamesOrder::Find(name.map(str::to_owned)), &[])?;
        let mut found: BTreeMap<String, NameEntry> = BTreeMap::new();
        let is_ours = |entry: &NameEntry| entry.record.is_signed_by(self.access.records());
        let told = answers.iter().flatten().flat_map(|answer| &answer.entries);
        for entry in told {
            match found.get_mut(entry.record.name()) {
                Some(known) if known.record.number() > entry.record.number() => {}
                Some(known) if known.record == entry.record => {
                    entry.holders.iter().for_each(|holder| {
                        if !known.holders.contains(holder) {
                            known.add(holder.clone());
                        }
                    });
                }
                _ if is_ours(entry) => {
                    found.insert(entry.record.name().to_owned(), entry.clone());
                }
                _ => {}
            }
        }
        let lacks = |entry: &&NameEntry| {
            answers
                .iter()
                .take(KEEPERS)
                .flatten()
                .any(|answer| !answer.entries.iter().any(|has| has.record == entry.record))
        };
        let is_member = self.access.member().is_some();
        let lacking = found.values().filter(|entry| !is_member && lacks(entry));
        for entry in lacking.cloned().collect::<Vec<_>>() {
            let manifest = match entry.record.content() {
                Some(_) => self.bytes(&entry)?,
                None => Vec::new(),
            };
            self.keep(&entry, &manifest)?;
        }
        Ok(found)
    }

    /// Returns the manifest of an entry.
    pub fn manifest(&mut self, entry: &NameEntry) -> Result<NameManifest, Failure> {
        let bytes = self.bytes(entry)?;
        let name = entry.record.name();
        NameManifest::parse(&bytes)
            .map_err(|reason| Failure::nothing(format!("cannot read {name}: {reason}")))
    }

    /// Returns the encoded manifest of an entry, from the first keeper that has it.
    fn bytes(&mut self, entry: &NameEntry) -> Result<Vec<u8>, Failure> {
        let name = entry.record.name();
        let root = entry.record.content().map(|content| content.root);
        let answers = self.ask(&NamesOrder::Manifest(name.to_owned()), &[])?;
        let mut manifests = answers.into_iter().flatten().map(|answer| answer.manifest);
        let sound = manifests.find(|bytes| Some(content_digest(bytes)) == root);
        sound.ok_or_else(|| {
            Failure::nothing(format!("no agent has the manifest of {name} unchanged"))
                .hint("publish the content again")
        })
    }

    /// Makes the keepers keep an entry; `manifest` may be empty if they have that of its root. Returns the nodes
    /// that keep it, at least one.
    pub fn keep(&mut self, entry: &NameEntry, manifest: &[u8]) -> Result<Vec<String>, Failure> {
        // Others would not be told of what is newer: what they kept would be old.
        let others = self.agents.split_off(self.agents.len().min(KEEPERS));
        let answers = self.ask(&NamesOrder::Keep(Box::new(entry.clone())), manifest)?;
        self.agents.extend(others);
        let kept = self.nodes.iter().zip(&answers).filter(|(_, answer)| answer.is_ok());
        let kept: Vec<String> = kept.map(|(node, _)| node.clone()).collect();
        if let (true, Some(Err(reason))) = (kept.is_empty(), answers.first()) {
            let name = entry.record.name();
            return Err(Failure::nothing(format!("no agent keeps {name}: {reason}")));
        }
        Ok(kept)
    }

    /// Makes other agents keep the names if some of these keepers are in `leaving`, the names of nodes whose agents
    /// are about to end.
    pub fn hand_over(mut self, leaving: &[&str]) -> Result<(), Failure> {
        let leaves = |node: &str| leaving.contains(&node);
        if !self.nodes.iter().any(|node| leaves(node)) {
            return Ok(());
        }
        let left = self.standing.iter().filter(|record| !leaves(&record.name)).cloned();
        let Ok(mut next) = Self::among(left.collect(), self.access, self.interrupts) else {
            return Ok(());
        };
        for entry in self.all(None)?.into_values() {
            let manifest = match entry.record.content() {
                Some(_) => self.bytes(&entry)?,
                None => Vec::new(),
            };
            next.keep(&entry, &manifest)?;
        }
        Ok(())
    }

    /// Tells the keepers that a node has the content of an entry.
    pub fn hold(&mut self, entry: &NameEntry, holder: &NameHolder) -> Result<(), Failure> {
        let Some(content) = entry.record.content() else { return Ok(()) };
        let name = entry.record.name().to_owned();
        self.ask(&NamesOrder::Hold(name, content.root, holder.clone()), &[]).map(drop)
    }

    /// Tells the keepers that `holder` fetches the content of an entry. Returns those that began before it, in order,
    /// as the first keeper knows them.
    pub fn fetch(
        &mut self,
        entry: &NameEntry,
        holder: &NameHolder,
    ) -> Result<Vec<NameHolder>, Failure> {
        let Some(content) = entry.record.content() else { return Ok(Vec::new()) };
        let name = entry.record.name().to_owned();
        let answers = self.ask(&NamesOrder::Fetch(name, content.root, holder.clone()), &[])?;
        let mut entries = answers.into_iter().flatten().flat_map(|answer| answer.entries);
        Ok(entries.find(|it| it.record == entry.record).map(|it| it.holders).unwrap_or_default())
    }

    fn ask(
        &mut self,
        order: &NamesOrder,
        manifest: &[u8],
    ) -> Result<Vec<Result<NamesAnswer, String>>, Failure> {
        let agents = std::mem::take(&mut self.agents);
        let asked = ask_names(agents, order, manifest, Some(self.interrupts));
        let asked = asked.or_nothing("asking the agents that keep names")?;
        let (agents, answers) = asked.into_iter().unzip();
        self.agents = agents;
        if self.interrupts.have_come() {
            return Err(Failure::interrupted("asking the agents that keep names"));
        }
        Ok(answers)
    }
}

/// Asks `nodes`, which need standing agents, for the manifest of `path` on them. Returns the answer or error of
/// each, in order.
pub fn digest(
    access: &Access,
    (nodes, path): (&[Node], &[u8]),
    interrupts: &Interrupts,
) -> Result<Vec<Result<NamesAnswer, String>>, Failure> {
    let agents = at_once(nodes, ASKED, |node| {
        let record = access.standing().iter().find(|record| record.name == node.name);
        let record = record.ok_or("it has no standing agent: start it with `garland up`")?;
        record.connect(access.keys()).map_err(|error| error.to_string())
    });
    let order = NamesOrder::Digest(path.to_vec());
    let asked = ask_names(agents, &order, &[], Some(interrupts));
    let asked = asked.or_nothing("reading the content on nodes")?;
    if interrupts.have_come() {
        return Err(Failure::interrupted("reading the content on nodes"));
    }
    Ok(asked.into_iter().map(|(_, answer)| answer).collect())
}

/// Has the agents of the nodes in `holders` serve the content of an entry from the paths there.
/// Returns those that do, and the name and reason of each other one.
///
/// # Errors
/// When the manifest cannot be encoded, this host cannot wait for agents, or the user interrupts it.
pub fn register(
    access: &Access,
    entry: &NameEntry,
    manifest: &NameManifest,
    holders: &[NameHolder],
    interrupts: &Interrupts,
) -> Result<Vec<Result<NameHolder, UnservedHolder>>, Failure> {
    let (manifest, _) = manifest.encode().map_err(Failure::nothing)?;
    let register = |holder: &NameHolder| -> Result<(), String> {
        let record = access.standing().iter().find(|record| record.name == holder.node);
        let record = record.ok_or("it has no standing agent")?;
        let agent = record.connect(access.keys()).map_err(|error| error.to_string());
        let (record, path) = (Box::new(entry.record.clone()), holder.path.clone());
        let order = NamesOrder::Register { record, path };
        let asked = ask_names(vec![agent], &order, &manifest, Some(interrupts));
        let answers = asked.map_err(|error| error.to_string())?;
        answers.into_iter().try_for_each(|(_, answer)| answer.map(drop))
    };
    let registered = at_once(holders, ASKED, register);
    if interrupts.have_come() {
        return Err(Failure::interrupted("telling agents what they serve"));
    }
    let with_holder = holders.iter().zip(registered).map(|(holder, registered)| {
        let unserved = |reason| UnservedHolder { node: holder.node.clone(), reason };
        registered.map(|()| holder.clone()).map_err(unserved)
    });
    Ok(with_holder.collect())
}

/// A node that has a content, and whose agent cannot serve it.
pub struct UnservedHolder {
    /// The node's name.
    pub node: String,
    /// Why its agent cannot.
    pub reason: String,
}

/// Returns the error of a command that needs the content of `name`, which does not exist.
pub fn unknown(name: &str) -> Failure {
    Failure::nothing(format!("there is no name {name}")).hint("garland names lists all names")
}
