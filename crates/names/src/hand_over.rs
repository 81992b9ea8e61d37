//! Before agents end: the names that they keep go to agents which stay.

use garland_fleet::context::Context;
use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_state::places::Places;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

use crate::access::Access;
use crate::keepers::Keepers;

/// Gives the names to agents which stay, if agents of the nodes `ending` keep some and are about to end, unless they are
/// nodes of a lab.
///
/// # Errors
/// When names would be lost, unless `may_lose` says that the user accepts that.
pub fn before(context: &Context, ending: Option<&str>, may_lose: bool) -> Result<(), Failure> {
    // Without a list all agents end, and the names stay on their disks.
    let Some(list) = ending else { return Ok(()) };
    let places = Places::open()?;
    let nodes = Inventory::open(context)?.nodes(list)?;
    // A process can enter a lab once, and `garland down` has to.
    if nodes.iter().any(|node| node.name.starts_with(LAB_PREFIX)) {
        return Ok(());
    }
    let interrupts = Interrupts::catch().or_nothing("catching Ctrl-C")?;
    let access = match Access::open(&places, None) {
        Ok(access) => access,
        Err(failure) => {
            // Records that cannot be read hinder nobody from ending agents.
            let reason = failure.message();
            garland_terminal::errln!("names: what {list} keeps was not handed over: {reason}");
            return Ok(());
        }
    };
    // If no agent answers, nothing can be handed over.
    let Ok(keepers) = Keepers::open(&access, &interrupts) else { return Ok(()) };
    let leaving: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let lost = keepers.hand_over(&leaving)?;
    if lost == 0 || may_lose {
        return Ok(());
    }
    let hint = format!(
        "start other agents with `garland up`, and give the command again; \
         `garland down --lose-names {list}` ends them all the same"
    );
    let why = format!(
        "cannot end the agents of {list}: no other one is known to keep {lost} of their names"
    );
    Err(Failure::nothing(why).hint(hint))
}
