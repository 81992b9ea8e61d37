//! Before agents end: the names that they keep go to agents which stay.

use garland_fleet::context::Context;
use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_state::places::Places;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

use crate::access::Access;
use crate::keepers::Keepers;

/// Gives the names to agents which stay, if agents of the nodes `ending` keep some and are about to
/// end, unless they are nodes of a lab. Prints what fails: the agents end all the same.
pub fn before(context: &Context, ending: Option<&str>) {
    // Without a list all agents end, and the names stay on their disks.
    if let Some(list) = ending
        && let Err(failure) = hand_over(context, list)
    {
        let reason = failure.message();
        garland_terminal::errln!("names: what {list} keeps was not handed over: {reason}");
    }
}

fn hand_over(context: &Context, list: &str) -> Result<(), Failure> {
    let places = Places::open()?;
    let nodes = Inventory::open(context)?.nodes(list)?;
    // A process can enter a lab once, and `garland down` has to.
    if nodes.iter().any(|node| node.name.starts_with(LAB_PREFIX)) {
        return Ok(());
    }
    let interrupts = Interrupts::catch().or_nothing("catching Ctrl-C")?;
    // If no agent answers, nothing can be handed over.
    let access = Access::open(&places, None)?;
    let Ok(keepers) = Keepers::open(&access, &interrupts) else { return Ok(()) };
    let leaving: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    keepers.hand_over(&leaving)
}
