//! Activities that progress at shared rates, in virtual time from event to event.

use garland_topology::bounds::{Use, fair_rates};

use super::network::Network;

/// A flow or a wait in progress.
#[derive(Clone, Debug)]
struct Activity {
    tag: usize,
    left: f64,
    /// The activity is complete if at most this amount remains, because of rounding errors.
    nothing: f64,
    rate: f64,
    /// The resources that the flow uses; `None` for a wait, which takes a fixed time.
    uses: Option<Vec<Use>>,
}

/// The activities in progress, in virtual time.
pub(super) struct Fluid<'n> {
    network: &'n Network,
    active: Vec<Activity>,
    /// Whether the rates must be computed again, since activities began or ended.
    stale: bool,
    /// The current time, in seconds since the start.
    pub(super) now: f64,
    /// For each resource, the amount that it has delivered so far.
    given: Vec<f64>,
}

impl<'n> Fluid<'n> {
    /// Creates an empty simulation with these resources.
    pub(super) fn new(network: &'n Network) -> Self {
        let given = vec![0.0; network.len()];
        Self { network, active: Vec::new(), stale: false, now: 0.0, given }
    }

    /// Returns the name of each resource and the share of `seconds` for which it was busy, 0 to 1,
    /// the busiest first.
    pub(super) fn busy(&self, seconds: f64) -> Vec<(String, f64)> {
        let share = |(place, given): (usize, &f64)| {
            let whole = self.network.capacity()[place] * seconds;
            let share = if whole > 0.0 { given / whole } else { 0.0 };
            (self.network.name(place).to_owned(), share)
        };
        let mut busy: Vec<(String, f64)> = self.given.iter().enumerate().map(share).collect();
        busy.sort_by(|a, b| b.1.total_cmp(&a.1));
        busy
    }

    /// Starts a flow of this number of bytes.
    pub(super) fn flow(&mut self, tag: usize, bytes: f64, uses: Vec<Use>) {
        let nothing = bytes * 1e-9;
        self.active.push(Activity { tag, left: bytes, nothing, rate: 0.0, uses: Some(uses) });
        self.stale = true;
    }

    /// Starts a wait of this number of seconds.
    pub(super) fn wait(&mut self, tag: usize, seconds: f64) {
        let nothing = seconds * 1e-9;
        self.active.push(Activity { tag, left: seconds, nothing, rate: 1.0, uses: None });
    }

    /// Removes the activities with this tag.
    pub(super) fn stop(&mut self, tag: usize) {
        self.active.retain(|activity| activity.tag != tag);
        self.stale = true;
    }

    /// Advances to the next end of an activity, or to `until`. Returns the tags of the activities
    /// that ended; `None` if none will ever end and `until` is `None`.
    pub(super) fn next(&mut self, until: Option<f64>) -> Option<Vec<usize>> {
        if self.stale {
            self.share_out();
        }
        let ends = self.active.iter().map(|activity| match activity.left <= activity.nothing {
            true => 0.0,
            false => activity.left / activity.rate,
        });
        let step = ends.fold(f64::INFINITY, f64::min);
        let step = until.map_or(step, |until| step.min((until - self.now).max(0.0)));
        if !step.is_finite() {
            return None;
        }
        self.now += step;
        for activity in &mut self.active {
            let done = if activity.rate.is_finite() { activity.rate * step } else { activity.left };
            let done = done.min(activity.left);
            activity.left -= done;
            for &(place, weight) in activity.uses.iter().flatten() {
                self.given[place] += done * weight;
            }
        }
        let mut ended = Vec::new();
        let before = self.active.len();
        self.active.retain(|activity| {
            let over = activity.left <= activity.nothing;
            if over {
                ended.push(activity.tag);
            }
            !over
        });
        self.stale |= self.active.len() < before;
        Some(ended)
    }

    fn share_out(&mut self) {
        let flows: Vec<&[Use]> =
            self.active.iter().filter_map(|activity| activity.uses.as_deref()).collect();
        let mut shared = fair_rates(self.network.capacity(), &flows).into_iter();
        for activity in self.active.iter_mut().filter(|activity| activity.uses.is_some()) {
            activity.rate = shared.next().unwrap_or(0.0);
        }
        self.stale = false;
    }
}
