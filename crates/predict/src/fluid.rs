//! Amounts that shrink at the rates that they are given, from event to event.

use super::fair::rates;
use super::network::Use;

/// What is under way.
#[derive(Clone, Debug)]
struct Activity {
    tag: usize,
    left: f64,
    /// What is too little to count.
    nothing: f64,
    rate: f64,
    /// None where it takes its own time and no resource.
    uses: Option<Vec<Use>>,
}

/// Everything that is under way, in virtual time.
pub(super) struct Fluid<'n> {
    capacity: &'n [f64],
    active: Vec<Activity>,
    /// Whether rates are to be shared out anew.
    stale: bool,
    /// Seconds since the beginning.
    pub(super) now: f64,
    /// What each resource has given so far.
    pub(super) given: Vec<f64>,
}

impl<'n> Fluid<'n> {
    /// Nothing is under way yet.
    pub(super) fn new(capacity: &'n [f64]) -> Self {
        let given = vec![0.0; capacity.len()];
        Self { capacity, active: Vec::new(), stale: false, now: 0.0, given }
    }

    /// Bytes begin to flow.
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

    /// What has this tag ends unfinished.
    pub(super) fn stop(&mut self, tag: usize) {
        self.active.retain(|activity| activity.tag != tag);
        self.stale = true;
    }

    /// Goes to the next end of anything, or to `until`: the tags of what has ended. None where nothing
    /// will ever happen.
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
        let mut shared = rates(self.capacity, &flows).into_iter();
        for activity in self.active.iter_mut().filter(|activity| activity.uses.is_some()) {
            activity.rate = shared.next().unwrap_or(0.0);
        }
        self.stale = false;
    }
}
