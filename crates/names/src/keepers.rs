//! The standing agents that keep names: three of them have all names, and each of them is enough to
//! read them.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use garland_control::{Agent, AskedAgent, NamesPatience, NamesQuestion, ask_names};
use garland_core::cluster::{Node, nodelist};
use garland_fleet::args::DEFAULT_LAB;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::default_nodes;
use garland_fleet::launch::lab;
use garland_fleet::standing::Standing;
use garland_lab::Lab;
use garland_protocol::names::{
    NameEntry, NameHolder, NameManifest, NameRecord, NamesOrder, check_name,
};
use garland_protocol::operation::NamesAnswer;
use garland_protocol::wire::Secret;
use garland_state::places::Places;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

use crate::access::Access;
use crate::records::{self, Answer, Keeping, Keeps, Manifests, Refusal};

/// The number of agents that keep the names.
const KEEPERS: usize = 3;

/// How many times a command tries to change a name that others change at the same time.
pub const ATTEMPTS_MAX: usize = 8;

/// The maximum number of names of which a command says what is wrong with them.
const TOLD_MAX: usize = 10;

/// How long a command gives names to keepers that lack them. Another one goes on with that.
const REPAIR_MAX: Duration = Duration::from_secs(30);

/// The number of wrong manifests at which a keeper is left out. It is more than one, since a disk
/// may damage a file or two, and the other names there are sound.
const WRONG_MANIFESTS_LIMIT: usize = 3;

/// What became of an entry that the keepers were told to keep.
pub enum Kept {
    /// The nodes that keep it, as many as have to.
    By(Vec<String>),
    /// Fewer nodes keep it.
    ByTooFew(TooFew),
    /// One of them has this newer record of the name, which is valid instead.
    Newer(NameRecord),
}

/// What became of an entry that fewer agents keep than have to.
pub struct TooFew {
    /// How many have to keep it.
    needed: usize,
    /// The nodes that keep it.
    kept: Vec<String>,
    /// The nodes that do not keep it.
    refused: Vec<NotKeeping>,
    /// The nodes whose agents could not be reached.
    unreached: Vec<NotKeeping>,
}

/// A node that does not keep an entry, and why.
#[derive(Clone)]
pub struct NotKeeping {
    pub node: String,
    pub reason: String,
}

impl TooFew {
    /// Returns whether no agent keeps it.
    pub fn is_kept_nowhere(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the failure of a command that changes `name`; `again` says what to do when all
    /// agents run.
    pub fn failure(&self, name: &str, again: &str) -> Failure {
        let missing = || self.refused.iter().chain(&self.unreached);
        let mut reasons: Vec<String> = Vec::new();
        for NotKeeping { node, reason } in missing().take(TOLD_MAX) {
            reasons.push(format!("{node}: {reason}"));
        }
        if missing().count() > TOLD_MAX {
            reasons.push(format!("and {} more nodes", missing().count() - TOLD_MAX));
        }
        let reasons = reasons.join("; ");
        let what = match self.kept.is_empty() {
            true => format!("no agent keeps {name}"),
            false => {
                let needed = self.needed;
                format!("cannot have {needed} agents keep {name}: {} does", folded(&self.kept))
            }
        };
        let failure = Failure::nothing(format!("{what}; {reasons}"));
        if self.unreached.is_empty() {
            return failure;
        }
        let unreached: Vec<String> = self.unreached.iter().map(|it| it.node.clone()).collect();
        let unreached = folded(&unreached);
        failure.hint(format!("start their agents with `garland up {unreached}`, and {again}"))
    }
}

fn folded(nodes: &[String]) -> String {
    nodelist::fold(&nodes.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The agents that keep names.
pub struct Keepers<'a> {
    access: &'a Access,
    patience: &'a NamesPatience,
    /// Those that can be keepers, in the order of their names.
    standing: Vec<Standing>,
    /// The number of `standing` that were asked to be keepers.
    tried: usize,
    /// Those of `standing` that could not be reached.
    unreached: Vec<NotKeeping>,
    nodes: Vec<String>,
    /// The agents of `nodes`; or why they are asked nothing more.
    agents: Vec<Result<Agent, String>>,
    /// How many manifests each of `nodes`, by number, has sent that were not those of its records.
    wrong: BTreeMap<usize, usize>,
    interrupts: &'a Interrupts,
}

/// Enters the lab `asked`, or that of the standing agents if no real node has one. Returns the lab,
/// whose agents keep the names.
pub fn enter(places: &Places, asked: Option<&str>) -> Result<Option<Lab>, Failure> {
    let nodes = default_nodes::standing(places, asked)?;
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
        Self::among(access.standing().to_vec(), access, access.patience(), interrupts)
    }

    /// Connects as [`open`](Self::open) does, with patience that is not that of the command: nobody
    /// waits for what is done in the background.
    pub fn open_in_background(
        access: &'a Access,
        patience: &'a NamesPatience,
        interrupts: &'a Interrupts,
    ) -> Result<Self, Failure> {
        Self::among(access.standing().to_vec(), access, patience, interrupts)
    }

    /// Connects to the first of `standing` that answer.
    fn among(
        standing: Vec<Standing>,
        access: &'a Access,
        patience: &'a NamesPatience,
        interrupts: &'a Interrupts,
    ) -> Result<Self, Failure> {
        let mut keepers = Self {
            access,
            patience,
            standing,
            tried: 0,
            unreached: Vec::new(),
            nodes: Vec::new(),
            agents: Vec::new(),
            wrong: BTreeMap::new(),
            interrupts,
        };
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
        let connected =
            at_once(next, ASKED, |record| connected(record, self.access, self.patience));
        for (record, agent) in next.iter().zip(connected) {
            let node = record.name.clone();
            match agent {
                Ok(agent) => {
                    self.nodes.push(node);
                    self.agents.push(Ok(agent));
                }
                Err(reason) => self.unreached.push(NotKeeping { node, reason }),
            }
        }
        self.tried += next.len();
    }

    /// Connects to those that keep the names when the agents of the nodes `leaving` have ended.
    /// `None` if no agent stays.
    pub fn successors(&self, leaving: &[&str]) -> Option<Result<Self, Failure>> {
        let stays = |record: &&Standing| !leaving.contains(&record.name.as_str());
        let left: Vec<Standing> = self.standing.iter().filter(stays).cloned().collect();
        if left.is_empty() {
            return None;
        }
        Some(Self::among(left, self.access, self.patience, self.interrupts))
    }

    /// Returns the nodes whose agents were reached, in order.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// Returns the nodes whose agents could not be reached.
    pub fn unreached(&self) -> &[NotKeeping] {
        &self.unreached
    }

    /// Returns how long the command waits for each agent.
    pub fn patience(&self) -> &'a NamesPatience {
        self.patience
    }

    /// Returns how many agents have to keep a name: a majority of those that should, which are
    /// three if there are so many.
    pub fn needed(&self) -> usize {
        records::majority(self.standing.len().min(KEEPERS))
    }

    /// Returns whether none of the agents that were reached is asked nothing more.
    pub fn are_all_asked(&self) -> bool {
        self.agents.iter().all(Result::is_ok)
    }

    /// Returns what those that should keep all names say of them, in order.
    pub fn known(&mut self) -> Result<Vec<Answer>, Failure> {
        let mut answers = self.ask(&NamesOrder::Find(None), &[])?;
        answers.truncate(KEEPERS);
        Ok(answers)
    }

    /// Returns whether a node has a standing agent, as far as this machine was told.
    pub fn knows(&self, node: &str) -> bool {
        self.access.standing().iter().any(|record| record.name == node)
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

    /// Returns the entries of `name` or of all names, also of those that have ended, by name.
    /// Keepers that lack a newer one get it; what they cannot get is told, and hinders nothing
    /// else.
    pub fn all(&mut self, name: Option<&str>) -> Result<BTreeMap<String, NameEntry>, Failure> {
        let answers = self.ask(&NamesOrder::Find(name.map(str::to_owned)), &[])?;
        let nodes = self.access.standing().iter().map(|record| record.name.as_str());
        let known: HashSet<&str> = nodes.collect();
        let found = records::newest(answers.iter(), |node| known.contains(node));
        // Members change nothing.
        if self.access.member().is_none() {
            let until_ns = clock::after(REPAIR_MAX);
            let mut untold = Vec::new();
            let mut put_off = 0;
            for entry in found.values() {
                let mut lacking = Vec::new();
                for (keeper, answer) in answers.iter().enumerate().take(KEEPERS) {
                    if self.agents[keeper].is_ok() && records::lacks(answer, entry) {
                        lacking.push(keeper);
                    }
                }
                if lacking.is_empty() {
                    continue;
                }
                if clock::until(until_ns).is_zero() {
                    put_off += 1;
                } else {
                    untold.extend(self.repair(entry, &lacking)?);
                }
            }
            tell(&untold);
            if put_off > 0 {
                garland_terminal::errln!(
                    "names: {put_off} names are not with all agents that keep them: \
                     `garland names` goes on with that"
                );
            }
        }
        Ok(found)
    }

    /// Gives an entry to the keepers with the numbers `lacking`, which lack it. Returns why that
    /// failed, if so.
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
        for (keeper, answer) in &answers {
            // Those that are left out by now were named.
            if let (Err(reason), Ok(_)) = (answer, &self.agents[*keeper]) {
                let node = &self.nodes[*keeper];
                return Ok(Some(format!("{node} does not keep {name}: {reason}")));
            }
        }
        Ok(None)
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

    /// Returns the encoded manifest of an entry, empty if its name has ended, or that no keeper has
    /// it.
    pub fn bytes_if_any(&mut self, entry: &NameEntry) -> Result<Result<Vec<u8>, String>, Failure> {
        let Some(content) = entry.record.content() else { return Ok(Ok(Vec::new())) };
        let name = entry.record.name();
        let mut answers = self.ask(&NamesOrder::Manifest(name.to_owned()), &[])?;
        let Manifests { sound, other } = records::manifests(&answers, &content.root);
        self.note_wrong(entry, &other)?;
        let sound = sound.and_then(|keeper| answers.swap_remove(keeper).ok());
        let manifest = sound.map(|answer| answer.manifest);
        Ok(manifest.ok_or_else(|| format!("no agent has the manifest of {name} unchanged")))
    }

    /// Counts a wrong manifest of each of `keepers`, which sent another manifest than that of an
    /// entry, if it says that it keeps this entry: others may have missed a change of the name.
    /// Leaves out those that reach [`WRONG_MANIFESTS_LIMIT`].
    fn note_wrong(&mut self, entry: &NameEntry, keepers: &[usize]) -> Result<(), Failure> {
        if keepers.is_empty() {
            return Ok(());
        }
        let name = entry.record.name();
        let order = NamesOrder::Find(Some(name.to_owned()));
        for (keeper, answer) in self.ask_some(|keeper| keepers.contains(&keeper), &order, &[])? {
            if !records::has(&answer, entry) {
                continue;
            }
            let wrong = self.wrong.entry(keeper).or_default();
            *wrong += 1;
            if *wrong >= WRONG_MANIFESTS_LIMIT {
                let reason = format!(
                    "it has sent {wrong} manifests that are not those of its records, the last \
                     one for {name}"
                );
                self.leave_out(keeper, &reason);
            }
        }
        Ok(())
    }

    /// Asks a keeper nothing more, and says so.
    fn leave_out(&mut self, keeper: usize, reason: &str) {
        let node = &self.nodes[keeper];
        if self.patience.leave_out(node, reason) {
            garland_terminal::errln!("names: {node} is asked nothing more: {reason}");
        }
        self.agents[keeper] = Err(reason.to_owned());
    }

    /// Makes the keepers keep an entry; `manifest` may be empty if they have that of its root.
    /// If enough of them do, prints which others refuse it.
    ///
    /// # Errors
    /// When the entry exceeds limits, or the user interrupts it.
    pub fn keep(&mut self, entry: &NameEntry, manifest: &[u8]) -> Result<Kept, Failure> {
        let name = entry.record.name();
        // What does not fit into a message would end the channels to all of them.
        let unfit = |reason| Failure::nothing(format!("cannot keep {name}: {reason}"));
        entry.check().map_err(unfit)?;
        let order = NamesOrder::Keep(Box::new(entry.clone()), *self.access.records());
        // Others would not be told of what is newer: what they kept would be old.
        let answers = self.ask_some(|keeper| keeper < KEEPERS, &order, manifest)?;
        let answers = answers.iter().map(|(keeper, answer)| (*keeper, answer));
        let needed = self.needed();
        let names = |kept: &[usize]| -> Vec<String> {
            kept.iter().map(|keeper| self.nodes[*keeper].clone()).collect()
        };
        match records::kept(&entry.record, needed, answers) {
            Keeping::Kept(Keeps { kept, refused }) => {
                for Refusal { keeper, reason } in refused {
                    // Those that are left out by now were named.
                    if self.agents[keeper].is_ok() {
                        let node = &self.nodes[keeper];
                        garland_terminal::errln!("names: {node} does not keep {name}: {reason}");
                    }
                }
                Ok(Kept::By(names(&kept)))
            }
            Keeping::TooFew(Keeps { kept, refused }) => {
                let refused = refused.into_iter().map(|Refusal { keeper, reason }| NotKeeping {
                    node: self.nodes[keeper].clone(),
                    reason,
                });
                Ok(Kept::ByTooFew(TooFew {
                    needed,
                    kept: names(&kept),
                    refused: refused.collect(),
                    unreached: self.unreached.clone(),
                }))
            }
            Keeping::Superseded(newer) => Ok(Kept::Newer(newer)),
        }
    }

    /// Tells the keepers that a node has the content of an entry.
    pub fn hold(&mut self, entry: &NameEntry, holder: &NameHolder) -> Result<(), Failure> {
        let Some(content) = entry.record.content() else { return Ok(()) };
        let name = entry.record.name().to_owned();
        self.ask(&NamesOrder::Hold(name, content.root, holder.clone()), &[]).map(drop)
    }

    /// Tells the keepers that `holder` fetches the content of an entry. Returns those that began
    /// before it, in order, as most keepers know them ([`records::fetching`]).
    pub fn fetch(
        &mut self,
        entry: &NameEntry,
        holder: &NameHolder,
    ) -> Result<Vec<NameHolder>, Failure> {
        let Some(content) = entry.record.content() else { return Ok(Vec::new()) };
        let name = entry.record.name().to_owned();
        let answers = self.ask(&NamesOrder::Fetch(name, content.root, holder.clone()), &[])?;
        let mut lists = Vec::new();
        for told in answers.iter().flatten().flat_map(|answer| answer.entries.values()) {
            if told.record == entry.record {
                lists.push(told.holders.as_slice());
            }
        }
        let before = records::fetching(&lists);
        // Nobody follows what a keeper may have invented.
        let known = before.into_iter().filter(|holder| self.knows(&holder.node));
        Ok(known.cloned().collect())
    }

    /// Sends an order to all keepers. Returns their answers, in order.
    fn ask(&mut self, order: &NamesOrder, manifest: &[u8]) -> Result<Vec<Answer>, Failure> {
        let answers = self.ask_some(|_| true, order, manifest)?;
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// Sends an order to the keepers that are `chosen` by their numbers. Returns their numbers and
    /// answers, in order.
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
                asked.push(AskedAgent { node: self.nodes[number].clone(), agent });
            } else {
                all.insert(number, agent);
            }
        }
        let records = Some(self.access.records());
        let question = NamesQuestion { order, pieces: manifest, records };
        let replies = ask_names(asked, question, self.patience, Some(self.interrupts));
        let replies = replies.or_nothing("cannot ask the agents that keep names")?;
        let mut answers = Vec::new();
        for (number, reply) in numbers.into_iter().zip(replies) {
            if let (Err(reason), true) = (&reply.agent, reply.is_newly_left_out) {
                let node = &self.nodes[number];
                garland_terminal::errln!("names: {node} is asked nothing more: {reason}");
            }
            all.insert(number, reply.agent);
            answers.push((number, reply.answer));
        }
        self.agents = all.into_values().collect();
        if self.interrupts.have_come() {
            return Err(Failure::interrupted("asking the agents that keep names"));
        }
        Ok(answers)
    }
}

/// Connects to a standing agent, unless the command asks it nothing more.
fn connected(
    record: &Standing,
    access: &Access,
    patience: &NamesPatience,
) -> Result<Agent, String> {
    let connect = || record.connect(access.keys()).map_err(|error| error.to_string());
    patience.wait(&record.name, connect)
}

/// Prints what is wrong with names, one line for each of the first [`TOLD_MAX`], and how many more
/// there are.
pub fn tell(untold: &[String]) {
    for reason in untold.iter().take(TOLD_MAX) {
        garland_terminal::errln!("names: {reason}");
    }
    if untold.len() > TOLD_MAX {
        let more = untold.len() - TOLD_MAX;
        garland_terminal::errln!(
            "names: {more} more names have problems; the first {TOLD_MAX} are listed above"
        );
    }
}

/// Asks `nodes`, which need standing agents, for the manifest of `path` on them. Returns the answer
/// or error of each, in order.
pub fn digest(
    access: &Access,
    nodes: &[Node],
    path: &[u8],
    interrupts: &Interrupts,
) -> Result<Vec<Result<NamesAnswer, String>>, Failure> {
    let agents = at_once(nodes, ASKED, |node| {
        let record = access.standing().iter().find(|record| record.name == node.name);
        let record = record.ok_or("it has no standing agent: start it with `garland up`")?;
        connected(record, access, access.patience())
    });
    let named = nodes.iter().zip(agents);
    let asked = named.map(|(node, agent)| AskedAgent { node: node.name.clone(), agent });
    let order = NamesOrder::Digest(path.to_vec());
    let question = NamesQuestion::new(&order);
    let replies = ask_names(asked.collect(), question, access.patience(), Some(interrupts));
    let replies = replies.or_nothing("cannot read the content on nodes")?;
    if interrupts.have_come() {
        return Err(Failure::interrupted("reading the content on nodes"));
    }
    Ok(replies.into_iter().map(|reply| reply.answer).collect())
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
        let agent = connected(record, access, access.patience());
        let asked = vec![AskedAgent { node: holder.node.clone(), agent }];
        let path = holder.path.clone();
        let order = NamesOrder::Register { record: Box::new(entry.record.clone()), path };
        let question = NamesQuestion { order: &order, pieces: manifest, records: None };
        let replies = ask_names(asked, question, access.patience(), Some(interrupts));
        let replies = replies.map_err(|error| error.to_string())?;
        replies.into_iter().try_for_each(|reply| reply.answer.map(drop))
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

/// Tells the agents of `nodes` that the names of `ended` have ended: they do not serve their
/// contents any more, unless for another name. Prints which ones cannot be told.
///
/// # Errors
/// When the user interrupts it.
pub fn end_serving(
    access: &Access,
    ended: &[&NameRecord],
    nodes: &[String],
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    let tell = |node: &String| -> Result<(), String> {
        let record = access.standing().iter().find(|record| record.name == *node);
        let record = record.ok_or("it has no standing agent")?;
        let mut agent = connected(record, access, access.patience());
        for record in ended {
            let record = Box::new((*record).clone());
            let order = NamesOrder::Register { record, path: Vec::new() };
            let asked = vec![AskedAgent { node: node.clone(), agent }];
            let question = NamesQuestion::new(&order);
            let replies = ask_names(asked, question, access.patience(), Some(interrupts));
            let mut replies = replies.map_err(|error| error.to_string())?;
            let reply = replies.pop().ok_or("it was not asked")?;
            reply.answer?;
            agent = reply.agent;
        }
        Ok(())
    };
    let told = at_once(nodes, ASKED, tell);
    if interrupts.have_come() {
        return Err(Failure::interrupted("telling agents which names have ended"));
    }
    let mut untold: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (node, told) in nodes.iter().zip(told) {
        if let Err(reason) = told {
            untold.entry(reason).or_default().push(node);
        }
    }
    let names: Vec<&str> = ended.iter().map(|record| record.name()).collect();
    let names = match names[..] {
        [name] => name.to_owned(),
        _ => format!("{} names that have ended", names.len()),
    };
    for (reason, nodes) in untold {
        let nodes = nodelist::fold(&nodes);
        garland_terminal::errln!(
            "names: {nodes} may go on serving the content of {names}: {reason}"
        );
    }
    Ok(())
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
