//! Measures how many blocks are in each stage of the pipeline over time: the depth that is
//! achieved, as opposed to the one that is allowed.

use garland_protocol::copy::{Stage, StageDepth};
use garland_sys::clock;
use garland_sys::sync::{Mutex, MutexGuard};

/// Counts the blocks in each stage of one copy on one node.
#[derive(Debug, Default)]
pub struct Stages {
    /// Blocks that are being read and encrypted.
    pub read: Gauge,
    /// Blocks that are ready to be sent.
    pub ready: Gauge,
    /// Received blocks that are being decrypted and written, or wait for that.
    pub write: Gauge,
}

impl Stages {
    /// Returns the mean and maximum depth of each stage that had blocks.
    pub fn depths(&self) -> Vec<StageDepth> {
        let stages =
            [(Stage::Read, &self.read), (Stage::Ready, &self.ready), (Stage::Write, &self.write)];
        stages.into_iter().filter_map(|(stage, gauge)| gauge.depth(stage)).collect()
    }
}

/// Counts the blocks in a stage, and the time.
#[derive(Debug, Default)]
pub struct Gauge(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    now: u32,
    most: u32,
    /// The time of the last update, in monotonic nanoseconds.
    since_ns: u64,
    /// The time in nanoseconds during which the stage had at least one block.
    busy_ns: u64,
    /// The number of blocks integrated over time, in block-nanoseconds.
    area: u128,
}

impl Gauge {
    /// Records that a block enters the stage.
    pub fn enter(&self) {
        let mut state = self.settled();
        state.now += 1;
        state.most = state.most.max(state.now);
    }

    /// Records that a block leaves the stage.
    pub fn leave(&self) {
        let mut state = self.settled();
        state.now = state.now.saturating_sub(1);
    }

    /// Records that all blocks leave the stage.
    pub fn clear(&self) {
        self.settled().now = 0;
    }

    fn depth(&self, stage: Stage) -> Option<StageDepth> {
        let state = self.settled();
        let mean = (state.area * 1000).checked_div(u128::from(state.busy_ns))?;
        Some(StageDepth { stage, mean: u32::try_from(mean).unwrap_or(u32::MAX), most: state.most })
    }

    /// Locks and returns the state, after adding the time since the last update to its sums.
    fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.lock();
        let changed_ns = clock::now_ns();
        let passed = changed_ns.saturating_sub(std::mem::replace(&mut state.since_ns, changed_ns));
        if state.now > 0 {
            state.busy_ns += passed;
            state.area += u128::from(state.now) * u128::from(passed);
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_over_the_time_with_any() {
        let stages = Stages::default();
        assert_eq!(stages.depths(), []);
        std::thread::sleep(std::time::Duration::from_millis(20));
        (0..3).for_each(|_| stages.write.enter());
        std::thread::sleep(std::time::Duration::from_millis(5));
        stages.write.clear();
        let [depth] = stages.depths()[..] else { panic!("one stage had blocks") };
        assert_eq!((depth.stage, depth.most), (Stage::Write, 3));
        // Almost no time passed between the three entries.
        assert!((2900..=3000).contains(&depth.mean), "{depth:?}");
    }
}
