//! Plans a copy to nodes: which blocks go over which lanes, and the routes of the lanes.

use garland_core::cluster::Node;
use garland_core::plan::{Plan, Stripes};
use garland_core::units::bytes;
use garland_lab::Lab;

use super::request::CopyRequest;
use super::shape::shaped;
use super::source::CopySource;
use garland_terminal::failure::Failure;

/// The maximum number of nodes that read parts of a shared source. Each part is a lane, which needs
/// a thread and memory on every node.
const READERS: u16 = 16;

/// Plans the copy of the source `given` to `path` on `nodes`, in the order of `nodes`. The number
/// of lanes is that of `--rails`; by default, that of the nodes' addresses or of the lab's rails.
pub fn plan(
    request: &CopyRequest<'_>,
    (given, path): (&CopySource, &[u8]),
    nodes: &[Node],
    lab: Option<&Lab>,
) -> Result<(Plan, Option<Stripes>), Failure> {
    let block = request.block_size;
    let rails = nodes.iter().map(|node| node.addresses.len()).min().unwrap_or(1);
    let rails = rails.max(lab.map_or(1, Lab::lanes));
    let rails = request.args.rails.unwrap_or(u16::try_from(rails).unwrap_or(1));
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    if request.args.shared {
        refuse_unshareable(given, path)?;
        let layout = given.layout(block)?;
        let plan = Plan::shared(layout, &names, READERS, rails)?;
        return Ok((plan, None));
    }
    let Some(unit) = &request.args.stripe else {
        let plan = Plan::broadcast(given.layout(block)?, &names, rails)?;
        return Ok((shaped(request, lab, plan)?, None));
    };
    let unit = bytes::parse(unit)?;
    let stripes = Stripes::new(given.content().length(), unit, nodes.len())?;
    let layout = match block {
        None => stripes.fitting_layout(),
        Some(block) => stripes.layout(block),
    };
    let layout = layout?;
    let plan = Plan::striped(layout, stripes, &names, rails)?;
    Ok((plan, Some(stripes)))
}

/// Returns an error for a shared copy unless the source is a regular file and the destination is a
/// file.
fn refuse_unshareable(given: &CopySource, path: &[u8]) -> Result<(), Failure> {
    let is_plain = given.file().is_some_and(|(path, _)| path.is_file());
    let wrong = if !is_plain {
        "--shared applies only to one regular file, which nodes see at the same path"
    } else if path == b"-" || path.starts_with(b"|") || path == b"/dev/null" {
        "--shared applies only to copies to files"
    } else {
        return Ok(());
    };
    Err(Failure::usage(wrong).hint("omit --shared"))
}
