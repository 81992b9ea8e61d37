//! `garland up --spool`: keeps agents connected, and copies what comes into a directory to all nodes.

mod directory;
mod members;
mod queue;
pub mod record;

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_control::{Agent, stand_chain};
use garland_core::cluster::Node;
use garland_core::farm::Text;
use garland_core::units::{Nanos, bytes};
use garland_sys::clock;
use garland_sys::folder_events::FolderEvents;
use garland_sys::signal::Interrupts;
use garland_sys::threads;

use self::directory::{Entry, SpoolDir};
use self::members::{Members, Started};
use self::queue::{Queue, Waiting};
use self::record::SpoolRecord;
use crate::args::{Cp, Up};
use crate::cluster_key::{self, MemberKeys};
use crate::cp::out::PlannedCopy;
use crate::cp::request::CopyRequest;
use crate::cp::site::Site;
use garland_fleet::builder::{Children, Fleet, FleetBuilder};
use garland_fleet::context::Context;
use garland_fleet::standing::RecordDir;
use garland_lab::Lab;
use garland_results::copy::{CopyResult, NodeResult};
use garland_results::head::Phases;
use garland_results::run::Run;
use garland_results::spool::{LackingNode, WaitingEntry};
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;

/// The longest interval between two looks into the directory: inotify(7) does not see what other machines do
/// on a shared file system, and a file that is being written changes without an event.
const LOOK: Duration = Duration::from_secs(1);

/// A spool that is served.
struct Spool<'a> {
    context: &'a Context,
    up: &'a Up,
    site: &'a Site,
    /// The path on the nodes, a directory.
    path: Vec<u8>,
    directory: SpoolDir,
    record: SpoolRecord,
    events: Option<FolderEvents>,
    interrupts: &'a Arc<Interrupts>,
    members: Members,
    queue: Queue,
    /// The names of entries that were left out at the last look, and were printed.
    left_out: HashSet<OsString>,
    /// What was last printed about entries that wait, which is not repeated.
    told: String,
}

/// Starts the agents of all nodes, and copies what comes into the directory to them, until the user interrupts.
pub fn run(context: &Context, up: &Up, directory: &Path) -> Result<Exit, Failure> {
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let destination = destination(up);
    let (site, (nodes, path)) = Site::enter(context, &up.launch, &destination, true)?;
    // Options that no copy can have are refused now.
    CopyRequest::try_from(&copy_of(up, directory)?)?;
    let directory = SpoolDir::open(directory)?;
    let run = Run::begin(&site.places, "spool")?;
    let start = |nodes: &[Node], quiet| start(up, &site, &run, (nodes, &interrupts), quiet);
    let agents = start(&nodes, context.json)?;
    // Copies use the links of the chain, which takes the channels of this start.
    let linked = stand_chain(agents.into_iter().map(Result::ok).collect());
    let links: u32 = linked.or_nothing("linking the nodes")?.iter().map(|node| node.count).sum();
    let agents = start(&nodes, true)?;
    hand_out_key(&site)?;
    let events = FolderEvents::of(directory.path()).ok();
    let queue = Queue::new(nodes.len());
    let (members, starter) = Members::new(nodes.clone(), agents)?;
    let record =
        SpoolRecord::new(&site.places, directory.path(), Text::from(destination.as_bytes()))?;
    garland_terminal::errln!("links   {links} between neighbours");
    let shown = (directory.path().display(), destination.display());
    garland_terminal::errln!("spool   {} to {}; Ctrl-C ends it", shown.0, shown.1);
    let again = |numbers: &[usize]| {
        let started = started_again(&nodes, numbers, &start);
        if started.iter().any(|(_, agent)| agent.is_ok()) {
            // Without the key, the nodes that came back cannot get contents by themselves.
            let _ = hand_out_key(&site);
        }
        started
    };
    std::thread::scope(|scope| {
        threads::spawn_in(scope, "starter", || starter.run(again))
            .or_nothing("serving the spool")?;
        let (interrupts, told) = (&interrupts, String::new());
        let site = &site;
        Spool {
            context,
            up,
            site,
            path,
            directory,
            record,
            events,
            interrupts,
            members,
            queue,
            left_out: HashSet::new(),
            told,
        }
        .serve()
    })
}

/// Returns the destination of the copies: the directory of all nodes.
fn destination(up: &Up) -> OsString {
    let mut destination = up.nodes.clone();
    let is_path = destination.as_bytes().contains(&b':');
    if is_path && !destination.as_bytes().ends_with(b"/") {
        destination.push("/");
    }
    destination
}

/// Parses the copy of the file or directory `source`, as `garland cp` would.
fn copy_of(up: &Up, source: &Path) -> Result<Cp, Failure> {
    // The time of a file is kept without -r, which would make it a tree. A link stays a link.
    let kept = if source.is_dir() || source.is_symlink() { "-a" } else { "-p" };
    let mut words = vec![OsString::from(kept)];
    words.extend(up.options.iter().cloned());
    words.extend(["--".into(), source.as_os_str().to_owned(), destination(up)]);
    Cp::of_words(words, &up.launch)
}

/// Connects to the standing agents of `nodes`; starts those that are missing.
fn start(
    up: &Up,
    site: &Site,
    run: &Run,
    (nodes, interrupts): (&[Node], &Arc<Interrupts>),
    quiet: bool,
) -> Result<Vec<Result<Agent, String>>, Failure> {
    let Site { inventory, places, lab, .. } = site;
    let builder = FleetBuilder {
        stay: Some(up.idle_seconds()),
        max_life: up.max_life_seconds(inventory.cluster()),
        interrupts: Some(Arc::clone(interrupts)),
        quiet,
        ..FleetBuilder::new(nodes, inventory, places, &up.launch, run, lab.as_ref())
    };
    Ok(builder.assemble()?.agents)
}

/// Gives the agents the key of the cluster, as `garland up` does.
fn hand_out_key(site: &Site) -> Result<(), Failure> {
    let records = RecordDir::open(&site.places, site.lab.as_ref().map(Lab::name))?;
    let keys = MemberKeys::Present;
    match cluster_key::names_are_used(&site.places, site.lab.as_ref().map(Lab::name))? {
        true => cluster_key::hand_out(&site.places, &records, keys, |_| false).map(drop),
        false => Ok(()),
    }
}

/// Starts the nodes with these indexes again, by `start`.
fn started_again(
    nodes: &[Node],
    numbers: &[usize],
    start: &impl Fn(&[Node], bool) -> Result<Vec<Result<Agent, String>>, Failure>,
) -> Started {
    let which: Vec<Node> = numbers.iter().map(|&node| nodes[node].clone()).collect();
    let agents = start(&which, true).unwrap_or_else(|failure| {
        numbers.iter().map(|_| Err(failure.message().to_owned())).collect()
    });
    numbers.iter().copied().zip(agents).collect()
}

impl Spool<'_> {
    /// Copies what waits until the user interrupts.
    fn serve(mut self) -> Result<Exit, Failure> {
        while !self.interrupts.have_come() {
            self.look()?;
            for node in self.members.come_back() {
                self.queue.came_back(node);
            }
            self.members.start_due();
            let now = clock::now_ns();
            match self.queue.next(now, |node| self.members.is_up(node)) {
                Some((entry, _)) if self.directory.is_being_written(&entry) => {
                    self.queue.postpone(&entry, clock::after(LOOK));
                }
                Some((entry, nodes)) => self.copy(&entry, nodes)?,
                None => {
                    let watch = self.events.as_ref().map(AsFd::as_fd);
                    self.members.rest(watch, self.interrupts, LOOK)?;
                }
            }
        }
        Ok(Exit::Interrupted)
    }

    /// Reads which entries wait.
    fn look(&mut self) -> Result<(), Failure> {
        self.events.iter().for_each(FolderEvents::clear);
        let path = self.directory.path().display();
        let found = self.directory.entries().or_nothing(format!("reading {path}"))?;
        for (name, reason) in &found.left_out {
            if !self.left_out.contains(name) {
                output::warn(format!("cannot copy {}: {reason}\n", name.display()));
            }
        }
        self.left_out = found.left_out.into_iter().map(|(name, _)| name).collect();
        if self.queue.see(&found.entries) { self.record() } else { Ok(()) }
    }

    /// Writes what waits to the record.
    fn record(&mut self) -> Result<(), Failure> {
        let entry = |waiting: &Waiting| WaitingEntry {
            name: Text::from(waiting.name().as_bytes()),
            nodes: waiting.missing().map(|(node, reason)| self.lacking(node, reason)).collect(),
        };
        let waiting = self.queue.waiting().iter().map(entry).collect();
        self.record.keep(waiting)
    }

    fn lacking(&self, node: usize, reason: Option<&str>) -> LackingNode {
        let name = self.members.nodes()[node].name.clone();
        LackingNode { name, reason: reason.map(str::to_owned) }
    }

    /// Copies an entry to nodes, and moves it to `done` if all nodes have it then.
    fn copy(&mut self, entry: &Entry, nodes: Vec<usize>) -> Result<(), Failure> {
        let made = self.make(entry, &nodes);
        let name = entry.name.display();
        let failed =
            |reason: String| nodes.iter().map(|&node| (node, Err(reason.clone()))).collect();
        let (results, result): (Vec<(usize, Result<(), String>)>, _) = match &made {
            Ok(result) => (self.results_of(result), Some(result)),
            Err(_) if self.interrupts.have_come() => return Ok(()),
            // It was removed meanwhile.
            Err(_) if !self.directory.has(entry) => return Ok(()),
            Err(failure) => (failed(failure.message().to_owned()), None),
        };
        let is_done = self.queue.copied(entry, results, clock::now_ns());
        let keeping = format!("keeping the result of {name}");
        match result {
            Some(result) if is_done => {
                let moved = self.directory.finish(entry, result).or_nothing(&keeping)?;
                if moved.is_some() {
                    self.tell(entry, result)?;
                }
            }
            // Something else may have the name of the result.
            Some(result) => {
                let kept = self.directory.keep_result(entry, result).or_nothing(&keeping);
                if let Err(failure) = kept {
                    output::warn(format!("{}\n", failure.message()));
                }
            }
            None => {}
        }
        if !is_done {
            self.tell_waiting(entry);
        }
        self.record()
    }

    /// Makes the copy of an entry to nodes.
    fn make(&mut self, entry: &Entry, nodes: &[usize]) -> Result<CopyResult, Failure> {
        let cp = copy_of(self.up, &self.directory.path_of(entry))?;
        let request = CopyRequest::try_from(&cp)?;
        let all = self.members.nodes();
        let target = (nodes.iter().map(|&node| all[node].clone()).collect(), self.path.clone());
        let phases = (self.interrupts, Phases::since_now());
        let copy = PlannedCopy::new((&request, self.site), target, phases)?;
        // Others may have given the name to a link to a file that only this user can read.
        if copy.file().is_some_and(|file| !entry.is_version(file)) || copy.is_stream() {
            return Err(Failure::nothing("it was replaced when the copy began"));
        }
        let run = copy.begin()?;
        let order: Vec<usize> = copy.nodes().filter_map(|name| self.number(name)).collect();
        let agents = order.iter().map(|&node| self.members.lend(node)).collect();
        let fleet = Fleet { agents, children: Children::default() };
        let mut back = Vec::new();
        let made = copy.make(self.context, &run, fleet, |fleet, _| back = fleet.agents);
        let gone =
            |failure: &Failure| order.iter().map(|_| Err(failure.message().to_owned())).collect();
        let back = made.as_ref().map_or_else(gone, |_| std::mem::take(&mut back));
        for (node, agent) in order.into_iter().zip(back) {
            self.members.take_back(node, agent);
        }
        let (result, _) = made?;
        run.keep("result.json", &result)?;
        Ok(result)
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.members.nodes().iter().position(|node| node.name == name)
    }

    /// Returns what became of a copy on its nodes. None has an entry of which something could not be read.
    fn results_of(&self, result: &CopyResult) -> Vec<(usize, Result<(), String>)> {
        let is_whole = result.is_whole();
        let outcome = |node: &NodeResult| {
            let reason = || node.end.reason.clone().unwrap_or_default();
            let outcome = match node.end.is_ok() {
                true if is_whole => Ok(()),
                true => Err("not all of it could be read; its result names what".to_owned()),
                false => Err(reason()),
            };
            Some((self.number(&node.name)?, outcome))
        };
        result.nodes.iter().filter_map(outcome).collect()
    }

    /// Prints that all nodes have an entry.
    fn tell(&self, entry: &Entry, result: &CopyResult) -> Result<(), Failure> {
        if self.context.json {
            return output::print_json(&serde_json::to_string(result).or_nothing("the result")?);
        }
        let (size, took) = (bytes::format(result.bytes), Nanos(result.head.elapsed_ns));
        output::print(format_args!("done    {}: {size} in {took}\n", entry.name.display()))
    }

    /// Prints which nodes lack an entry.
    fn tell_waiting(&mut self, entry: &Entry) {
        let mut waiting = self.queue.waiting().iter();
        if let Some(waiting) = waiting.find(|it| it.name() == entry.name) {
            let nodes =
                waiting.missing().map(|(node, reason)| self.lacking(node, reason)).collect();
            let name = Text::from(entry.name.as_bytes());
            let text = WaitingEntry { name, nodes }.to_string();
            if text != self.told {
                output::warn(&text);
                self.told = text;
            }
        }
    }
}
