//! The request of `garland cp`: its arguments, parsed and checked once.

use garland_control::Pipeline;
use garland_core::cluster::Cluster;
use garland_core::plan::Plan;
use garland_core::tree::Pattern;
use garland_core::units::{Nanos, bytes};
use garland_dataplane::Tracing;
use garland_lab::Lab;
use garland_protocol::{Cut, Policy, ReadBack, SlowNodes};
use garland_sys::mptcp::Transport;
use garland_sys::tcp;

use super::lists;
use super::options::{kind_of, refuse_without_effect};
use super::task::Task;
use crate::args::Cp;

use garland_terminal::failure::Failure;

/// A copy that the user requested, with parsed values. Options without an effect on this kind of
/// copy are refused. Conflicts that depend on the nodes or on the type of a file are reported once
/// these are known.
pub struct CopyRequest<'a> {
    /// The arguments as they were typed.
    pub args: &'a Cp,
    /// The task: a copy to nodes, a copy from nodes, or joining a copy.
    pub task: Task,
    /// The patterns of paths to skip in trees, and of exceptions; the first that matches decides.
    pub excludes: Vec<Pattern>,
    /// The size of a block in bytes; `None` if the user did not specify it. The size then depends
    /// on the length of the source.
    pub block_size: Option<u32>,
    /// Buffers, operations and rate of each lane.
    pub pipeline: Pipeline,
}

impl<'a> TryFrom<&'a Cp> for CopyRequest<'a> {
    type Error = Failure;

    /// Parses and checks the arguments.
    ///
    /// # Errors
    /// When an option has no effect on this kind of copy, or its value cannot be parsed.
    fn try_from(args: &'a Cp) -> Result<Self, Failure> {
        let task = Task::of(args)?;
        refuse_without_effect(args, kind_of(args, &task)?)?;
        if args.join.is_none() {
            refuse_missing_source(args)?;
        }
        Ok(Self {
            args,
            task,
            excludes: lists::excludes(&args.filters)?,
            block_size: args.block_size.as_deref().map(block_size).transpose()?,
            pipeline: pipeline(args)?,
        })
    }
}

impl CopyRequest<'_> {
    /// Returns the checks that read the copy back at the end.
    pub fn read_back(&self) -> ReadBack {
        self.args.checks.read_back()
    }

    /// Returns the patterns in `excludes`, as bytes.
    pub fn raw_excludes(&self) -> Vec<Vec<u8>> {
        self.excludes.iter().map(|pattern| pattern.text().to_vec()).collect()
    }

    /// Returns the congestion controls to request, the best first.
    pub fn congestion(&self) -> Vec<String> {
        match &self.args.congestion {
            Some(name) => vec![name.clone()],
            None => tcp::PREFERRED.map(str::to_owned).to_vec(),
        }
    }

    /// Returns the congestion control that links will use; `None` if it cannot be determined.
    pub fn congestion_in_force(&self) -> Option<String> {
        let names = self.congestion();
        tcp::congestion_in_force(&names.iter().map(String::as_str).collect::<Vec<_>>()).ok()
    }

    /// Returns the transport of data links. With a rate limit it is TCP: the kernel applies the
    /// limit to each subflow of an MPTCP connection, and the sum of the subflows would exceed it.
    pub fn transport(&self, lab: Option<&Lab>, lanes: usize) -> Transport {
        let args = self.args;
        Transport::mptcp_if(args.checks.pace() == 0 && args.launch.speaks_mptcp(lab, lanes))
    }

    /// Returns how the copy is traced, or `None` if it is not; times in traces are relative to
    /// `started_ns`.
    pub fn tracing(&self, lab: Option<&Lab>, started_ns: u64) -> Option<Tracing> {
        (!self.args.no_trace).then(|| Tracing { started_ns, emulated: lab.is_some() })
    }

    /// Returns the policy of a copy by `plan` to nodes. A striped copy needs all of its nodes. The
    /// copy of a stream waits for slow nodes: it cannot detach them, since a stream cannot be read
    /// again.
    pub fn policy(&self, plan: &Plan, is_striped: bool, cluster: Option<&Cluster>) -> Policy {
        let below = self.args.slow_below;
        match self.patience(plan.nodes.len() - 1, cluster).with_slow(self.args.on_slow, below) {
            policy if is_striped => policy.striped(),
            policy if plan.layout.open => policy.with_slow(SlowNodes::Wait, below),
            policy => policy,
        }
    }

    /// Returns the policy of a copy from or to `nodes` nodes that treats slow nodes as usual.
    pub fn patience(&self, nodes: usize, cluster: Option<&Cluster>) -> Policy {
        let policy = Policy::for_nodes(nodes).with_stuck_after(self.args.stuck_after);
        let dead_after = self.args.dead_after.or_else(|| cluster?.dead_after);
        dead_after.map_or(policy, |Nanos(time)| policy.with_dead_after(time))
    }

    /// Checks `--min-ok` against the number of nodes.
    ///
    /// # Errors
    /// When it is larger than `nodes`.
    pub fn refuse_unreachable(&self, nodes: usize) -> Result<(), Failure> {
        match self.args.min_ok {
            Some(wanted) if wanted > nodes => {
                let are =
                    if nodes == 1 { "is 1 node".to_owned() } else { format!("are {nodes} nodes") };
                Err(Failure::usage(format!("--min-ok {wanted} cannot be reached: there {are}"))
                    .hint(format!("--min-ok can be at most {nodes}, the number of nodes")))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if the data would be read back although it is not stored; `message` names
    /// its destination.
    ///
    /// # Errors
    /// If `--verify` or `--digest` requests reading back.
    pub fn refuse_to_read_back(&self, message: &str) -> Result<(), Failure> {
        if self.read_back() == ReadBack::default() {
            return Ok(());
        }
        Err(Failure::usage(message).hint("omit --verify and --digest"))
    }
}

fn refuse_missing_source(args: &Cp) -> Result<(), Failure> {
    if args.sources().is_empty() {
        let only = args.destination().to_string_lossy();
        let message = format!("a copy needs a SOURCE and a DESTINATION, and only {only} was given");
        return Err(Failure::usage(message).hint("such as garland cp FILE 'n[01-20]:/path'"));
    }
    if args.sources().iter().any(|source| source.as_os_str().is_empty()) {
        return Err(Failure::usage("the path of a SOURCE is empty"));
    }
    Ok(())
}

fn block_size(text: &str) -> Result<u32, Failure> {
    let size = bytes::parse(text)?;
    Ok(u32::try_from(size).unwrap_or(u32::MAX))
}

fn pipeline(args: &Cp) -> Result<Pipeline, Failure> {
    let cut = |text: &String| match bytes::parse(text)? {
        0 => Err(Failure::usage("--op-size must be at least 1")),
        size => Ok(Cut { size, overlap: args.op_overlap }),
    };
    let cut = args.op_size.as_ref().map(cut).transpose()?;
    Ok(Pipeline { buffers: args.buffers, cut, pace: args.checks.pace() })
}
