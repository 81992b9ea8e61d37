//! What the delay line of a running lab has done.

use garland_sys::segment::Segment;

use crate::record::Keeper;
use crate::{DelayCounters, Lab, LabError, delay};

impl Lab {
    /// Returns what the lab's own delay line has done; `None` if the lab has none.
    pub fn delay_counters(&self) -> Result<Option<DelayCounters>, LabError> {
        let counted = self.delay_counters_by_medium()?;
        Ok(counted.map(|all| all.into_iter().fold(DelayCounters::default(), DelayCounters::and)))
    }

    /// Returns what the lab's own delay line has done at the ports of each medium; `None` if the
    /// lab has none.
    pub(crate) fn delay_counters_by_medium(&self) -> Result<Option<Vec<DelayCounters>>, LabError> {
        let Keeper { pid, delay, .. } = self.keeper();
        let Some(number) = delay.as_ref().and_then(|delay| delay.counters) else {
            return Ok(None);
        };
        let segment = Segment::of_process(*pid, number)
            .map_err(|source| self.enter_failed("_media", source))?;
        Ok(Some(delay::by_medium(&self.spec().cabled(), &segment)))
    }
}
