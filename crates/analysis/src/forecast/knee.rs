//! The knee: the node count at which something is busy all the time, and its name.

use serde::Serialize;

use super::Work;
use super::calibrate::Calibrated;

/// Where more nodes stop to help, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// The node count.
    pub nodes: f64,
    /// What saturates there.
    pub resource: String,
    /// Why, in words.
    pub why: String,
}

/// The name of a limit that the points show but that was not given.
const UNNAMED: &str = "something that doesn't get faster with nodes";

/// The knee by this law; `fixed` is the least that its fixed part can be, in seconds, and `most` the
/// largest node count of the question.
pub(super) fn knee(law: &Calibrated, work: &Work<'_>, fixed: f64, most: u32) -> Option<Knee> {
    match work {
        Work::Fixed { jobs, demands } => {
            let busiest = demands.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let named = busiest.filter(|demand| demand.seconds > 0.0).map(|demand| Knee {
                nodes: (law.slope / demand.seconds).max(1.0),
                resource: demand.name.clone(),
                why: format!(
                    "one node has {:.3} s of work, of which {:.3} s keep it busy",
                    law.slope, demand.seconds
                ),
            });
            let unnamed = (named.is_none() && fixed > 0.0 && law.fixed > 0.0).then(|| Knee {
                nodes: ((law.fixed + law.slope) / law.fixed).max(1.0),
                resource: UNNAMED.to_owned(),
                why: format!("{:.3} s are left however many nodes there are", law.fixed),
            });
            let jobs = jobs.map(|jobs| Knee {
                nodes: f64::from(jobs),
                resource: "the number of jobs".to_owned(),
                why: format!("{jobs} jobs never keep more than {jobs} nodes busy"),
            });
            let all = [named, unnamed, jobs].into_iter().flatten();
            all.min_by(|a, b| a.nodes.total_cmp(&b.nodes))
        }
        Work::Growing { floor } => of_growing(law, *floor, most),
    }
}

/// A knee that is farther away than this is none.
const FARTHEST: f64 = 1e9;

fn of_growing(law: &Calibrated, floor: &dyn Fn(u32) -> super::Floor, most: u32) -> Option<Knee> {
    let far = most.max(2);
    let (near, end) = (floor(far / 2), floor(far));
    let of_floor = ((end.seconds - near.seconds) / f64::from(far - far / 2)).max(0.0);
    let each = law.slope + of_floor;
    let one = law.fixed + law.slope + floor(1).seconds;
    let nodes = one / each;
    let resource = if of_floor > law.slope {
        end.name
    } else {
        "what is done for one node after another".to_owned()
    };
    (nodes.is_finite() && nodes < FARTHEST).then(|| Knee {
        nodes: nodes.max(1.0),
        resource,
        why: format!("one node takes {one:.3} s, and each further one adds {each:.6} s"),
    })
}
