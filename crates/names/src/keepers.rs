//! The standing agents that keep names: three of them have all names, and each of them is enough.

use std::collections::BTreeMap;

use garland_control::{Agent, ask_names, ask_records};
use garland_core::cluster::Node;
use garland_fleet::args::DEFAULT_LAB;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::launch::lab;
use garland_fleet::standing::Standing;
use garland_lab::Lab;
use garland_protocol::operation::NamesAnswer;
use garland_protocol::{
    HolderKind, NameEntry, NameHolder, NameManifest, NameRecord, NamesOrder, Secret, check_name,
    content_digest,
};
use garland_results::places::Places;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

use crate::access::Access;
use crate::records::{self, Answer, Keeping};

/// The number of agents that keep the names.
const KEEPERS: usize = 3;

/// How many times a command tries to change a name that others change at the same time.
pub const ATTEMPTS_MAX: usize = 8;

/// The maximum number of names of which a command says what is wrong with them.
const TOLD_MAX: usize = 10;

/// What became of an entry that the keepers were told to keep.
pub enum Kept {
    /// The nodes that keep it, at least one.
    By(Vec<String>),
    /// One of them has this newer record of the name, which is valid instead.
    Newer(NameRecord),
}

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
        Ok(self.latest(name)?.filter(|entry| entry.record.content().is_some()))
    }

    /// Returns the newest entry of `name`, also if it has ended; `None` if there never was one.
    pub fn latest(&mut self, name: &str) -> Result<Option<NameEntry>, Failure> {
        check_name(name).map_err(Failure::usage)?;
        let mut found = self.all(Some(name))?;
        if !found.contains_key(name) {
            // All keepers may have changed since it was published.
            self.connect(usize::MAX);
            found = self.all(Some(name))?;
        }
        Ok(found.remove(name))
    }

    /// Returns the entries of `name` or of all names, also of those that have ended, by name. Keepers that lack a
    /// newer one get it; what they cannot get is told, and hinders nothing else.
    pub fn all(&mut self, name: Option<&str>) -> Result<BTreeMap<String, NameEntry>, Failure> {
        let answers = self.ask(&NamesOrder::Find(name.map(str::to_owned)), &[])?;
        let found = records::newest(answers.iter());
        // Members change nothing.
        if self.access.member().is_none() {
            let mut untold = Vec::new();
            for entry in found.values() {
                let others = answers.iter().enumerate().take(KEEPERS);
                let lacking = others.filter(|(_, answer)| records::lacks(answer, entry));
                let lacking: Vec<usize> = lacking.map(|(keeper, _)| keeper).collect();
                if !lacking.is_empty() {
                    untold.extend(self.repair(entry, &lacking)?);
                }
            }
            tell(&untold);
        }
        Ok(found)
    }

    /// Gives an entry to the keepers with the numbers `lacking`, which lack it. Returns why that failed, if so.
    fn repair(&mut self, entry: &NameEntry, lacking: &[usize]) -> Result<Option<String>, Failure> {
        let name = entry.record.name();
        let manifest = match self.bytes_if_any(entry)? {
            Ok(manifest) => manifest,
            Err(reason) => {
                let cure = "publish the content again, or unpublish the name";
                return Ok(Some(format!("{reason}: {cure}")));
            }
        };
        let order = NamesOrder::Keep(Box::new(entry.clone()), *self.access.records());
        let answers = self.ask_some(|keeper| lacking.contains(&keeper), &order, &manifest)?;
        let told = answers.iter().find_map(|(keeper, answer)| {
            let reason = answer.as_ref().err()?;
            Some(format!("{} does not keep {name}: {reason}", self.nodes[*keeper]))
        });
        Ok(told)
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
        let bytes = self.bytes_if_any(entry)?;
        bytes.map_err(|reason| Failure::nothing(reason).hint("publish the content again"))
    }

    /// Returns the encoded manifest of an entry, empty if its name has ended, or that no keeper has it.
    fn bytes_if_any(&mut self, entry: &NameEntry) -> Result<Result<Vec<u8>, String>, Failure> {
        let Some(content) = entry.record.content() else { return Ok(Ok(Vec::new())) };
        let name = entry.record.name();
        let answers = self.ask(&NamesOrder::Manifest(name.to_owned()), &[])?;
        let mut manifests = answers.into_iter().flatten().map(|answer| answer.manifest);
        let sound = manifests.find(|bytes| content_digest(bytes) == content.root);
        Ok(sound.ok_or_else(|| format!("no agent has the manifest of {name} unchanged")))
    }

    /// Makes the keepers keep an entry; `manifest` may be empty if they have that of its root. Those that refuse it
    /// are told, if others keep it.
    ///
    /// # Errors
    /// When nobody keeps it.
    pub fn keep(&mut self, entry: &NameEntry, manifest: &[u8]) -> Result<Kept, Failure> {
        let order = NamesOrder::Keep(Box::new(entry.clone()), *self.access.records());
        // Others would not be told of what is newer: what they kept would be old.
        let answers = self.ask_some(|keeper| keeper < KEEPERS, &order, manifest)?;
        let name = entry.record.name();
        let answers = answers.iter().map(|(keeper, answer)| (*keeper, answer));
        match records::kept(&entry.record, answers) {
            Keeping::Kept(keepers, refused) => {
                for reason in refused {
                    garland_terminal::errln!("names: an agent does not keep {name}: {reason}");
                }
                Ok(Kept::By(keepers.iter().map(|keeper| self.nodes[*keeper].clone()).collect()))
            }
            Keeping::Superseded(newer) => Ok(Kept::Newer(newer)),
            Keeping::Refused(reasons) => {
                let reasons = reasons.into_iter().collect::<Vec<_>>().join("; ");
                Err(Failure::nothing(format!("no agent keeps {name}: {reasons}")))
            }
        }
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
        let mut untold = Vec::new();
        for entry in self.all(None)?.into_values() {
            let given = match self.bytes_if_any(&entry)? {
                Ok(manifest) => next.keep(&entry, &manifest).map(drop),
                Err(reason) => Err(Failure::nothing(reason)),
            };
            if let Err(failure) = given {
                if self.interrupts.have_come() {
                    return Err(failure);
                }
                let name = entry.record.name();
                untold.push(format!("{name} was not handed over: {}", failure.message()));
            }
        }
        tell(&untold);
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
        let mut entries =
            answers.into_iter().flatten().flat_map(|answer| answer.entries.into_values());
        let found = entries.find(|it| it.record == entry.record);
        let mut before = found.map(|it| it.holders).unwrap_or_default();
        // A keeper may lie, and have this node read from anywhere else.
        before.retain(|holder| holder.kind == HolderKind::Node);
        Ok(before)
    }

    /// Sends an order to all keepers. Returns their answers, in order.
    fn ask(&mut self, order: &NamesOrder, manifest: &[u8]) -> Result<Vec<Answer>, Failure> {
        let answers = self.ask_some(|_| true, order, manifest)?;
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// Sends an order to the keepers that are `chosen` by their numbers. Returns their numbers and answers, in order.
    fn ask_some(
        &mut self,
        chosen: impl Fn(usize) -> bool,
        order: &NamesOrder,
        manifest: &[u8],
    ) -> Result<Vec<(usize, Answer)>, Failure> {
        let mut numbers = Vec::new();
        let mut asked = Vec::new();
        let mut all = BTreeMap::new();
        for (number, agent) in std::mem::take(&mut self.agents).into_iter().enumerate() {
            if chosen(number) {
                numbers.push(number);
                asked.push(agent);
            } else {
                all.insert(number, agent);
            }
        }
        let records = Some(self.access.records());
        let answered = ask_records(asked, order, manifest, records, Some(self.interrupts));
        let answered = answered.or_nothing("asking the agents that keep names")?;
        let mut answers = Vec::new();
        for (number, (agent, answer)) in numbers.into_iter().zip(answered) {
            all.insert(number, agent);
            answers.push((number, answer));
        }
        self.agents = all.into_values().collect();
        if self.interrupts.have_come() {
            return Err(Failure::interrupted("asking the agents that keep names"));
        }
        Ok(answers)
    }
}

/// Says what is wrong with names, the first ones of many.
fn tell(untold: &[String]) {
    for reason in untold.iter().take(TOLD_MAX) {
        garland_terminal::errln!("names: {reason}");
    }
    if untold.len() > TOLD_MAX {
        garland_terminal::errln!("names: likewise {} more", untold.len() - TOLD_MAX);
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
/// `manifest` is the encoded one of the entry.
///
/// # Errors
/// When the user interrupts it.
pub fn register(
    access: &Access,
    entry: &NameEntry,
    manifest: &[u8],
    holders: &[NameHolder],
    interrupts: &Interrupts,
) -> Result<Vec<Result<NameHolder, UnservedHolder>>, Failure> {
    let register = |holder: &NameHolder| -> Result<(), String> {
        let record = access.standing().iter().find(|record| record.name == holder.node);
        let record = record.ok_or("it has no standing agent")?;
        let agent = record.connect(access.keys()).map_err(|error| error.to_string());
        let (record, path) = (Box::new(entry.record.clone()), holder.path.clone());
        let order = NamesOrder::Register { record, path };
        let asked = ask_names(vec![agent], &order, manifest, Some(interrupts));
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

/// Returns the error of a command that could not change `name`, because others did so each time.
pub fn contended(name: &str) -> Failure {
    let why = format!("cannot change {name}: other commands change it at the same time");
    Failure::nothing(why).hint("give the command again when they have ended")
}
