//! Before agents end: the names that they keep go to agents which stay.

use std::time::Duration;

use garland_fleet::context::Context;
use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_protocol::names::NameEntry;
use garland_state::places::Places;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

use crate::access::Access;
use crate::keepers::{Keepers, Kept, NotKeeping, tell};
use crate::records::{self, Due};

/// How long `down` hands names over. The same command, given again, goes on with that.
const HAND_OVER_MAX: Duration = Duration::from_secs(600);

/// An agent that takes less for what it is asked about one name is waited for again with the next
/// one.
const QUICK_HAND_OVER_MAX: Duration = Duration::from_secs(5);

/// What became of an entry that was to be handed over.
enum HandedOver {
    /// Enough other agents keep it.
    Kept,
    /// Another agent keeps it, and that is fewer than is usual, which is said.
    KeptByFew(String),
    /// No agent has its manifest any more, and why that is said.
    Unreadable(String),
    /// No other agent keeps it, and why.
    Lost(String),
}

/// Gives the names to agents which stay, if agents of the nodes `ending` keep some and are about to
/// end, unless they are nodes of a lab.
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
    let interrupts = Interrupts::catch().or_nothing("cannot catch Ctrl-C")?;
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
    let lost = hand_over(keepers, &leaving)?;
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

/// Makes other agents keep the names if some of `keepers` are in `leaving`, the names of nodes
/// whose agents are about to end. Tells the user which names no other agent keeps then, and returns
/// their number.
fn hand_over(mut keepers: Keepers<'_>, leaving: &[&str]) -> Result<usize, Failure> {
    let leaves = |node: &str| leaving.contains(&node);
    let is_any_reached = keepers.nodes().iter().any(|node| leaves(node));
    if !is_any_reached && !keepers.unreached().iter().any(|it| leaves(&it.node)) {
        return Ok(0);
    }
    let found = keepers.all(None)?;
    // Without names nobody keeps any.
    let silent = keepers.unreached().iter().filter(|it| leaves(&it.node) && !found.is_empty());
    for NotKeeping { node, reason } in silent {
        garland_terminal::errln!("names: what {node} keeps was not handed over: {reason}");
    }
    if !is_any_reached {
        return Ok(0);
    }
    // If all agents end, the names stay on their disks, as they do without a list of nodes.
    let Some(next) = keepers.successors(leaving) else { return Ok(0) };
    let Ok(mut next) = next else {
        return Ok(found.values().filter(|entry| entry.record.content().is_some()).count());
    };
    let known = next.known()?;
    // What was asked until now was long with many names.
    keepers.patience().begin_again();
    let next_records = records::due(found.values(), &known, next.needed());
    give_all(&next_records, &mut keepers, &mut next)
}

/// Gives entries of `keepers` to the `next` ones, as long as there is time for them. Tells the user
/// what became of those that enough of the next ones do not keep, and returns the number of names
/// that none of them keeps.
fn give_all(
    due: &[Due<'_>],
    keepers: &mut Keepers<'_>,
    next: &mut Keepers<'_>,
) -> Result<usize, Failure> {
    let until_ns = clock::after(HAND_OVER_MAX);
    let mut untold = Vec::new();
    let mut lost = 0;
    let mut put_off = 0;
    for Due { entry, is_safe } in due {
        if clock::until(until_ns).is_zero() {
            put_off += usize::from(!is_safe);
            continue;
        }
        let mark = keepers.patience().mark();
        match give(entry, keepers, next)? {
            HandedOver::Kept => {}
            HandedOver::KeptByFew(reason) | HandedOver::Unreadable(reason) => untold.push(reason),
            HandedOver::Lost(reason) => {
                lost += usize::from(!is_safe);
                untold.push(reason);
            }
        }
        // There may be many names, and honest agents on slow disks.
        keepers.patience().forgive_quick(&mark, QUICK_HAND_OVER_MAX);
    }
    tell(&untold);
    if put_off > 0 {
        let minutes = HAND_OVER_MAX.as_secs() / 60;
        garland_terminal::errln!(
            "names: {put_off} names were not handed over within {minutes} min: \
             the same command goes on with that"
        );
    }
    Ok(lost + put_off)
}

/// Gives an entry of `keepers` to the `next` ones.
fn give(
    entry: &NameEntry,
    keepers: &mut Keepers<'_>,
    next: &mut Keepers<'_>,
) -> Result<HandedOver, Failure> {
    let name = entry.record.name();
    let reason = match keepers.bytes_if_any(entry)? {
        Ok(manifest) => match next.keep(entry, &manifest)? {
            Kept::ByTooFew(few) => {
                let reason = few.failure(name, "publish it again").message().to_owned();
                // Those few may be wrong, or lie: the user learns of it.
                return Ok(match few.is_kept_nowhere() {
                    true => HandedOver::Lost(format!("{name} was not handed over: {reason}")),
                    false => HandedOver::KeptByFew(reason),
                });
            }
            Kept::By(_) | Kept::Newer(_) => return Ok(HandedOver::Kept),
        },
        // If all keepers were asked, nothing is lost with any of them.
        Err(reason) if keepers.are_all_asked() => {
            return Ok(HandedOver::Unreadable(format!("{name} was not handed over: {reason}")));
        }
        Err(reason) => reason,
    };
    Ok(HandedOver::Lost(format!("{name} was not handed over: {reason}")))
}
