//! The place from which a command copies, and where the copy goes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::cluster::Node;
use garland_core::printable;
use garland_fleet::args::Launch;
use garland_fleet::builder::FleetBuilder;
use garland_fleet::context::Context;
use garland_fleet::destination::{self, NodesAndPath};
use garland_fleet::inventory::Inventory;
use garland_lab::Lab;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

use super::overtime::Overtime;
use super::spec::RunOptions;

/// The place from which a command copies. A process enters it once, before it starts threads.
pub struct Place {
    /// The options of all commands.
    pub context: Context,
    /// The interrupts of the user, which end the copy.
    pub interrupts: Arc<Interrupts>,
    /// The nodes that the command knows.
    pub inventory: Inventory,
    /// The state directory.
    pub places: Places,
    /// The lab that this process has entered; `None` for real nodes.
    pub lab: Option<Lab>,
    /// The directory below which this machine's own agent resolves paths, if the copy is to this
    /// machine.
    pub here: Option<PathBuf>,
}

/// The time in which the source of a copy is opened, and the copy planned. Ctrl-C ends the command
/// even if a disk does not respond.
pub struct Opening {
    /// The rate of the emulated disk of this machine in bytes per second; `None` for a real one.
    pub disk: Option<u64>,
    _overtime: Overtime,
}

/// The destination of a copy.
#[derive(Clone, Debug)]
pub struct Target {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The path on them.
    pub path: Vec<u8>,
}

impl Place {
    /// Finds the nodes of `destination`, and enters their lab if they have one. A lab that is down
    /// is no error if `needs_lab` is false.
    ///
    /// # Errors
    /// When the destination cannot be parsed, a node is unknown, or the lab cannot be entered.
    pub fn enter(
        context: &Context,
        interrupts: &Arc<Interrupts>,
        launch: &Launch,
        destination: &OsStr,
        needs_lab: bool,
    ) -> Result<(Self, Target), Failure> {
        let inventory = Inventory::open(context)?;
        let NodesAndPath { nodes, path } = destination::destination(&inventory, destination)?;
        let place = Self::among(context, interrupts, inventory, launch, &nodes, needs_lab)?;
        Ok((place, Target { nodes, path }))
    }

    /// Enters the lab of `nodes` if they have one. A lab that is down is no error if `needs_lab` is
    /// false.
    ///
    /// # Errors
    /// When the state directory cannot be read, or the lab cannot be entered.
    pub fn among(
        context: &Context,
        interrupts: &Arc<Interrupts>,
        inventory: Inventory,
        launch: &Launch,
        nodes: &[Node],
        needs_lab: bool,
    ) -> Result<Self, Failure> {
        let places = Places::open()?;
        let lab = match launch.enter_lab(nodes, &places) {
            Err(_) if !needs_lab => None,
            entered => entered?,
        };
        Ok(Self {
            context: context.clone(),
            interrupts: Arc::clone(interrupts),
            inventory,
            places,
            lab,
            here: None,
        })
    }

    /// Begins to open the source of a copy.
    ///
    /// # Errors
    /// When the user's interrupts cannot be watched.
    pub fn begin_opening(&self) -> Result<Opening, Failure> {
        let lab = self.lab.as_ref();
        let disk = lab.and_then(|lab| lab.disk(lab.head()).ok().flatten());
        let overtime = Overtime::watch("opening the source", &self.interrupts)?;
        Ok(Opening { disk, _overtime: overtime })
    }

    /// Returns the builder of a fleet on `nodes` that ends with this place's interrupts.
    pub fn builder<'a>(
        &'a self,
        options: &'a RunOptions,
        nodes: &'a [Node],
        run: &Run,
    ) -> FleetBuilder<'a> {
        let Self { context, interrupts, inventory, places, lab, .. } = self;
        FleetBuilder {
            interrupts: Some(Arc::clone(interrupts)),
            quiet: options.is_quiet || context.json,
            ..FleetBuilder::new(nodes, inventory, places, &options.launch, run, lab.as_ref())
        }
    }

    /// Stays on this machine, for a copy to `path` here. In results this machine is the node
    /// `name`.
    ///
    /// # Errors
    /// When the cluster file or the state directory cannot be read.
    pub fn here(
        context: &Context,
        interrupts: &Arc<Interrupts>,
        name: &str,
        path: &Path,
    ) -> Result<(Self, Target), Failure> {
        let inventory = Inventory::open(context)?;
        let whole = std::path::absolute(path)
            .or_nothing(format!("cannot find the directory of {}", printable::path(path)))?;
        let node = Node { addresses: vec![name.to_owned()], ..Node::named(name) };
        let place = Self {
            context: context.clone(),
            interrupts: Arc::clone(interrupts),
            inventory,
            places: Places::open()?,
            lab: None,
            here: Some(PathBuf::from("/")),
        };
        Ok((place, Target { nodes: vec![node], path: whole.into_os_string().into_vec() }))
    }
}
