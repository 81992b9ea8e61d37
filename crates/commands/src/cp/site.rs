//! The place from which a command copies.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use garland_core::cluster::Node;
use garland_lab::Lab;

use super::ends;
use garland_fleet::args::Launch;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_results::places::Places;
use garland_terminal::failure::{Failure, OrFailure};

/// The place from which a command copies. A process enters it once, before it starts threads.
pub struct Site {
    /// The nodes that the command knows.
    pub inventory: Inventory,
    /// The state directory.
    pub places: Places,
    /// The lab that this process has entered; `None` for real nodes.
    pub lab: Option<Lab>,
    /// The directory below which this machine's own agent resolves paths, if the copy is to this machine.
    pub here: Option<PathBuf>,
}

/// The destination of a copy: the nodes, and the path on them.
pub type Target = (Vec<Node>, Vec<u8>);

impl Site {
    /// Finds the nodes of `destination`, and enters their lab if they have one. A lab that is down is no error
    /// if `needs_lab` is false.
    pub fn enter(
        context: &Context,
        launch: &Launch,
        destination: &OsStr,
        needs_lab: bool,
    ) -> Result<(Self, Target), Failure> {
        let inventory = Inventory::open(context)?;
        let (nodes, path) = ends::destination(&inventory, destination)?;
        let places = Places::open()?;
        let lab = match launch.enter_lab(&nodes, &places) {
            Err(_) if !needs_lab => None,
            entered => entered?,
        };
        Ok((Self { inventory, places, lab, here: None }, (nodes, path)))
    }

    /// Stays on this machine, for a copy to `path` here. In results this machine is the node `name`.
    pub fn here(context: &Context, name: &str, path: &Path) -> Result<(Self, Target), Failure> {
        let inventory = Inventory::open(context)?;
        let absolute = std::path::absolute(path)
            .or_nothing(format!("cannot find the directory of {}", path.display()))?;
        let node = Node { addresses: vec![name.to_owned()], ..Node::named(name) };
        let (places, here) = (Places::open()?, Some(PathBuf::from("/")));
        let target = (vec![node], absolute.into_os_string().into_vec());
        Ok((Self { inventory, places, lab: None, here }, target))
    }
}
