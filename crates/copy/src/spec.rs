//! A copy as values: what is copied, and how. The command line of `garland cp`, a spool and
//! `garland get` each make a [`CopySpec`]; what makes the copy does not know which of them it was.

use std::path::PathBuf;

use garland_control::Pipeline;
use garland_core::cluster::{Cluster, target};
use garland_core::plan::{Plan, RouteShape};
use garland_core::tree::Pattern;
use garland_core::units::{Nanos, Rate};
use garland_dataplane::compress::Packing;
use garland_dataplane::recorder::Tracing;
use garland_dataplane::tree::name_of;
use garland_fleet::args::Launch;
use garland_lab::Lab;
use garland_protocol::copy::{
    Cut, KeptStatus, Policy, ReadBack, SlowNodes, StatusRule, SweptMounts, TimeWindow, TreeLimits,
};
use garland_state::run::TRACED;
use garland_sys::mptcp::Transport;
use garland_sys::tcp;
use garland_terminal::failure::Failure;

use super::command_line::CommandLine;

/// The order that stands for the fastest one.
pub const FASTEST_ORDER: &str = "auto";

/// A copy, without its destination.
#[derive(Clone, Debug)]
pub struct CopySpec {
    /// What is copied.
    pub source: SourceSpec,
    /// The order of the nodes, and the way of the data.
    pub plan: PlanOptions,
    /// When nodes are slow or fail.
    pub slow: SlowOptions,
    /// What is compared, read back and made stable.
    pub checks: CopyChecks,
    /// Memory, wires and traces.
    pub tuning: Tuning,
    /// How the command runs and what it prints.
    pub run: RunOptions,
}

/// What is copied, and what of it is kept.
#[derive(Clone, Debug, Default)]
pub struct SourceSpec {
    /// The paths, as the user named them; none if the content is given.
    pub paths: Vec<PathBuf>,
    /// Whether directories are copied, with everything in them.
    pub is_tree: bool,
    /// The patterns of paths to skip in trees, and of exceptions; the first that matches decides.
    pub excludes: Vec<Pattern>,
    /// The file with the paths to copy, below the only source; `-` is standard input.
    pub chosen_by: Option<PathBuf>,
    /// Whether other file systems in trees are left out.
    pub is_one_file_system: bool,
    /// Whether what the source does not have is removed from nodes.
    pub removes_others: bool,
    /// The maximum number of files and directories that are removed from a node; `None` if there is
    /// none, and then nothing is removed for an empty source.
    pub removes_max: Option<u64>,
    /// Whether extended attributes are kept.
    pub keeps_attributes: bool,
    /// Whether a single file keeps what `keeps` says.
    pub preserves: bool,
    /// What entries of trees keep of mode and time.
    pub keeps: KeptStatus,
    /// The file that gets the names of entries that were not copied.
    pub failed_to: Option<PathBuf>,
}

/// The order of the nodes, and the way of the data.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// `list`, `rack`, `wires`, `auto`, or a node list.
    pub order: String,
    /// The shape of the route.
    pub shape: ShapeChoice,
    /// The number of lanes; `None` for as many as all nodes have addresses.
    pub rails: Option<u16>,
    /// The size of a block in bytes; `None` if it follows from the length of the source.
    pub block_size: Option<u32>,
    /// The unit of a striped copy in bytes; `None` if each node gets everything.
    pub stripe_unit: Option<u64>,
    /// Whether nodes read parts of the source themselves.
    pub is_shared: bool,
    /// The faults to inject, as the user wrote them.
    pub faults: Vec<String>,
}

/// The shapes of a copy's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeChoice {
    /// Whichever is predicted to be faster.
    Auto,
    /// The fastest tree.
    Tree,
    /// This shape.
    Only(RouteShape),
}

/// When nodes are slow or fail.
#[derive(Clone, Copy, Debug)]
pub struct SlowOptions {
    /// What is done with slow nodes.
    pub action: SlowNodes,
    /// The share, in thousandths, of the rate of the others below which a node is slow.
    pub below: u16,
    /// The time after which a node with a hung disk fails, in nanoseconds.
    pub stuck_after: u64,
    /// The time after which a silent node is dead; `None` if the cluster file or the default
    /// decides.
    pub dead_after: Option<Nanos>,
    /// The number of nodes with which the copy is a success; `None` for all.
    pub min_ok: Option<usize>,
}

/// What is compared, read back and made stable.
#[derive(Clone, Copy, Debug)]
pub struct CopyChecks {
    /// How is found out what nodes have already.
    pub comparison: Comparison,
    /// Which modification times count as equal.
    pub window: TimeWindow,
    /// What is read back at the end.
    pub read_back: ReadBack,
    /// Whether the end waits for stable storage.
    pub fsync: bool,
    /// Whether block devices that are in use are written to.
    pub forces_devices: bool,
}

/// How is found out what nodes have already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// It is not: everything is sent.
    None,
    /// Files of trees by their size, time, mode and owner; others by contents.
    Status,
    /// By contents.
    Contents,
}

/// Memory, wires and traces.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The limit of each link; `None` if there is none.
    pub link_limit: Option<Rate>,
    /// The number of blocks that each lane may hold; `None` for the usual one.
    pub buffers: Option<u16>,
    /// How a striped copy is cut into operations; `None` for one window over the whole file.
    pub cut: Option<Cut>,
    /// The congestion control of data links; `None` for the preferred ones.
    pub congestion: Option<String>,
    /// How blocks are compressed.
    pub packing: Packing,
    /// Whether data is encrypted.
    pub is_sealed: bool,
    /// Whether traces are kept.
    pub is_traced: bool,
}

/// How the command runs and what it prints.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How agents are started.
    pub launch: Launch,
    /// Whether the plan is made and printed, and nothing else.
    pub is_dry: bool,
    /// Whether each entry that changes is named.
    pub names_entries: bool,
    /// The file for the plan.
    pub plan_file: Option<PathBuf>,
    /// Whether no progress is shown.
    pub is_quiet: bool,
    /// Whether progress is reported to programs, as lines of JSON.
    pub reports_progress: bool,
    /// The number of copies whose traces are kept.
    pub keep_traces: usize,
    /// The command line with which the copy goes on if it is interrupted; `None` if it cannot.
    pub command_line: Option<CommandLine>,
}

impl CopySpec {
    /// Returns a copy of `source` by agents that are started as `launch` says, with defaults for
    /// the rest.
    pub fn new(source: SourceSpec, launch: Launch) -> Self {
        Self {
            source,
            plan: PlanOptions::default(),
            slow: SlowOptions::default(),
            checks: CopyChecks::default(),
            tuning: Tuning::default(),
            run: RunOptions::new(launch),
        }
    }

    /// Returns the buffers, operations and rate of each lane.
    pub fn pipeline(&self) -> Pipeline {
        let Tuning { buffers, cut, .. } = self.tuning;
        Pipeline { buffers, cut, pace: self.tuning.pace() }
    }

    /// Returns the transport of data links. With a rate limit it is TCP: the kernel applies the
    /// limit to each subflow of an MPTCP connection, and the sum of the subflows would exceed it.
    pub fn transport(&self, lab: Option<&Lab>, lanes: usize) -> Transport {
        let speaks_mptcp = self.run.launch.speaks_mptcp(lab, lanes);
        Transport::mptcp_if(self.tuning.pace() == 0 && speaks_mptcp)
    }

    /// Returns how the copy is traced, or `None` if it is not; times in traces are relative to
    /// `started_ns`.
    pub fn tracing(&self, lab: Option<&Lab>, started_ns: u64) -> Option<Tracing> {
        self.tuning.is_traced.then(|| Tracing { started_ns, emulated: lab.is_some() })
    }

    /// Returns whether the contents of a tree are compared, or all of it is sent: what changes is
    /// then not known by its status.
    pub fn ignores_status(&self) -> bool {
        self.checks.comparison != Comparison::Status || self.checks.read_back.verify
    }

    /// Returns by what entries of a tree count as unchanged.
    pub fn status_rule(&self) -> StatusRule {
        StatusRule {
            attributes: self.source.keeps_attributes,
            window: self.checks.window,
            keeps: self.source.keeps,
            swept: self.source.swept_mounts(),
        }
    }

    /// Returns an error if the data would be read back although it is not stored; `message` names
    /// its destination.
    ///
    /// # Errors
    /// If `--verify` or `--digest` requests reading back.
    pub fn refuse_to_read_back(&self, message: &str) -> Result<(), Failure> {
        if self.checks.read_back == ReadBack::default() {
            return Ok(());
        }
        Err(Failure::usage(message).hint("omit --verify and --digest"))
    }
}

impl SourceSpec {
    /// Returns what files keep that are copied without directories.
    pub fn kept_of_file(&self) -> KeptStatus {
        let KeptStatus { modes, times, .. } = self.keeps;
        let preserves = self.preserves;
        KeptStatus { modes: modes && preserves, times: times && preserves, owners: false }
    }

    /// Returns what the stream of a tree may do on nodes.
    pub fn limits_on_nodes(&self) -> TreeLimits {
        TreeLimits {
            removes: self.removes_others.then(|| self.removes_max.unwrap_or(u64::MAX)),
            swept: self.swept_mounts(),
            attributes: self.keeps_attributes,
            ..TreeLimits::default()
        }
    }

    /// Returns from which directories of nodes something is removed.
    fn swept_mounts(&self) -> SweptMounts {
        let is_named = self.paths.iter().all(|path| name_of(path).is_some());
        match (self.is_one_file_system, is_named) {
            (false, _) => SweptMounts::All,
            (true, true) => SweptMounts::OfCopied,
            (true, false) => SweptMounts::OfDestination,
        }
    }

    /// Returns the patterns in `excludes`, as bytes.
    pub fn raw_excludes(&self) -> Vec<Vec<u8>> {
        self.excludes.iter().map(|pattern| pattern.text().to_vec()).collect()
    }
}

impl PlanOptions {
    /// Whether the file is divided over the nodes.
    pub fn is_striped(&self) -> bool {
        self.stripe_unit.is_some()
    }
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            order: FASTEST_ORDER.to_owned(),
            shape: ShapeChoice::Auto,
            rails: None,
            block_size: None,
            stripe_unit: None,
            is_shared: false,
            faults: Vec::new(),
        }
    }
}

/// What nodes make of the blocks of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyForm {
    /// Each the whole file.
    Whole,
    /// Each its stripe.
    Stripes,
    /// Each the files of a tree.
    Tree,
}

impl SlowOptions {
    /// Returns the policy of a copy of this form by `plan` to `path` on nodes. A striped copy needs
    /// all of its nodes. The copy of a stream waits for slow nodes: it cannot detach them, since a
    /// stream cannot be read again.
    pub fn policy(
        &self,
        plan: &Plan,
        form: CopyForm,
        path: &[u8],
        cluster: Option<&Cluster>,
    ) -> Policy {
        let is_read = target::is_process(path);
        let patient = self.patience(plan.nodes.len() - 1, cluster);
        let patient = patient.with_readers_that_may_pause(is_read);
        let patient = patient.with_order(is_read || form == CopyForm::Tree);
        let is_striped = form == CopyForm::Stripes;
        match patient.with_slow(self.action, self.below) {
            policy if is_striped => policy.striped(),
            policy if plan.layout.open => policy.with_slow(SlowNodes::Wait, self.below),
            policy => policy,
        }
    }

    /// Returns the policy of a copy from or to `nodes` nodes that treats slow nodes as usual.
    pub fn patience(&self, nodes: usize, cluster: Option<&Cluster>) -> Policy {
        let policy = Policy::for_nodes(nodes).with_stuck_after(self.stuck_after);
        let dead_after = self.dead_after.or_else(|| cluster?.dead_after);
        dead_after.map_or(policy, |Nanos(time)| policy.with_dead_after(time))
    }

    /// Checks `--min-ok` against the number of nodes.
    ///
    /// # Errors
    /// When it is larger than `nodes`.
    pub fn refuse_unreachable(&self, nodes: usize) -> Result<(), Failure> {
        match self.min_ok {
            Some(wanted) if wanted > nodes => {
                let are =
                    if nodes == 1 { "is 1 node".to_owned() } else { format!("are {nodes} nodes") };
                Err(Failure::usage(format!("--min-ok {wanted} cannot be reached: there {are}"))
                    .hint(format!("--min-ok can be at most {nodes}, the number of nodes")))
            }
            _ => Ok(()),
        }
    }
}

impl Default for SlowOptions {
    fn default() -> Self {
        Self {
            action: SlowNodes::Detach,
            below: 500,
            stuck_after: 60_000_000_000,
            dead_after: None,
            min_ok: None,
        }
    }
}

impl Default for CopyChecks {
    fn default() -> Self {
        Self {
            comparison: Comparison::Status,
            window: TimeWindow::default(),
            read_back: ReadBack::default(),
            fsync: true,
            forces_devices: false,
        }
    }
}

impl Tuning {
    /// Returns the rate limit of each link between two machines in bytes per second; 0 if there is
    /// none.
    pub fn pace(&self) -> u64 {
        self.link_limit.map_or(0, |rate| rate.bytes_per_second() as u64)
    }

    /// Returns the congestion controls to request, the best first.
    pub fn congestion(&self) -> Vec<String> {
        match &self.congestion {
            Some(name) => vec![name.clone()],
            None => tcp::PREFERRED.map(str::to_owned).to_vec(),
        }
    }

    /// Returns the congestion control that links will use; `None` if it cannot be determined.
    pub fn congestion_in_force(&self) -> Option<String> {
        let names = self.congestion();
        tcp::congestion_in_force(&names.iter().map(String::as_str).collect::<Vec<_>>()).ok()
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            link_limit: None,
            buffers: None,
            cut: None,
            congestion: None,
            packing: Packing::None,
            is_sealed: true,
            is_traced: true,
        }
    }
}

impl RunOptions {
    /// Returns how a command runs whose agents are started as `launch` says, with defaults for the
    /// rest.
    pub fn new(launch: Launch) -> Self {
        Self {
            launch,
            is_dry: false,
            names_entries: false,
            plan_file: None,
            is_quiet: false,
            reports_progress: false,
            keep_traces: TRACED,
            command_line: None,
        }
    }
}
