//! The key of the cluster, which standing agents get: with it their nodes read names and contents by themselves.

use garland_control::ask_names;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::standing::{RecordDir, Standing};
use garland_protocol::{CLUSTER_NODES_MAX, ClusterKey, NamesOrder, RecordKey};
use garland_results::places::Places;
use garland_terminal::failure::{Failure, OrFailure};
use garland_terminal::output;

/// Gives the key to all standing agents of `records`. Prints which of those that are up, by their names, cannot take it:
/// their nodes cannot read names.
pub fn hand_out(
    places: &Places,
    records: &RecordDir,
    is_up: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let (controller, member) = (places.controller_keys()?, places.member_keys()?);
    let standing = Standing::all(records);
    let known = standing.iter().take(CLUSTER_NODES_MAX).map(Standing::for_cluster);
    let key = ClusterKey {
        member: member.private,
        public: member.public,
        records: RecordKey::of(&controller.private),
        node: String::new(),
        root: Vec::new(),
        agents: known.collect(),
    };
    let agents = at_once(&standing, ASKED, |agent| {
        agent.connect(&controller).map_err(|error| error.to_string())
    });
    let asked = ask_names(agents, &NamesOrder::Member(Some(Box::new(key))), &[], None);
    let asked = asked.or_nothing("giving agents the key of the cluster")?;
    for (agent, (_, answer)) in standing.iter().zip(asked) {
        let name = &agent.name;
        if let (Err(reason), true) = (answer, is_up(name)) {
            output::warn(format!("{name} cannot read names by itself: {reason}"));
        }
    }
    Ok(())
}
