//! The knee: the node count at which a resource is busy all the time, and the resource's name.

use serde::Serialize;

use super::calibrate::Calibrated;
use super::{Floor, Work};

/// The node count beyond which more nodes do not help, with the reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// The node count, not rounded.
    pub nodes: f64,
    /// The name of the resource that saturates.
    pub resource: String,
    /// The reason, as text for the user.
    pub why: String,
}

/// The name of a limit that the points show but that is not among the known ones.
const UNNAMED: &str = "an unnamed resource that nodes do not make faster";

/// The name of what starts nodes one after another.
const LAUNCHER: &str = "the launcher, which starts nodes one after another";

/// What each node adds is the launcher's if that takes at least this fraction of it.
const MOST_OF_IT: f64 = 0.5;

/// Returns the first knee that a law or a known limit causes; `None` if there is none. `fixed` is
/// the minimum of the law's fixed part in seconds, and `most` the largest node count of the
/// question.
pub(super) fn knee(law: &Calibrated, work: &Work<'_>, fixed: f64, most: u32) -> Option<Knee> {
    match work {
        Work::Fixed { jobs, demands } => {
            let busiest = demands.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let named = busiest.filter(|demand| demand.seconds > 0.0).map(|demand| Knee {
                nodes: (law.slope / demand.seconds).max(1.0),
                resource: demand.name.clone(),
                why: format!(
                    "one node takes {:.3} s, and this resource is busy for {:.3} s of that",
                    law.slope, demand.seconds
                ),
            });
            let unnamed = (named.is_none() && fixed > 0.0 && law.fixed > 0.0).then(|| Knee {
                nodes: ((law.fixed + law.slope) / law.fixed).max(1.0),
                resource: UNNAMED.to_owned(),
                why: format!("{:.3} s remain with any number of nodes", law.fixed),
            });
            let jobs = jobs.map(|jobs| Knee {
                nodes: f64::from(jobs),
                resource: "the number of jobs".to_owned(),
                why: format!("{jobs} jobs keep at most {jobs} nodes busy"),
            });
            let all = [named, unnamed, jobs].into_iter().flatten();
            all.min_by(|a, b| a.nodes.total_cmp(&b.nodes))
        }
        Work::Growing { floor, starts } => growing_knee(law, *floor, *starts, most),
    }
}

/// The largest node count that counts as a knee.
const FARTHEST: f64 = 1e9;

/// Returns the knee of work that grows with the nodes. `floor` and `starts` are those of
/// [`Work::Growing`].
fn growing_knee(
    law: &Calibrated,
    floor: &dyn Fn(u32) -> Floor,
    starts: f64,
    most: u32,
) -> Option<Knee> {
    let far = most.max(2);
    let near = floor(far / 2);
    let end = floor(far);
    let of_floor = ((end.seconds - near.seconds) / f64::from(far - far / 2)).max(0.0);
    let each = law.slope + of_floor;
    let one = law.fixed + law.slope + floor(1).seconds;
    let nodes = one / each;
    let resource = if of_floor > law.slope {
        end.name
    } else if starts > 0.0 && starts >= MOST_OF_IT * law.slope {
        LAUNCHER.to_owned()
    } else {
        "work done for one node after another".to_owned()
    };
    (nodes.is_finite() && nodes < FARTHEST).then(|| Knee {
        nodes: nodes.max(1.0),
        resource,
        why: format!("one node takes {one:.3} s, and each further node adds {each:.6} s"),
    })
}
