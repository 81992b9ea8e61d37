//! What an experiment is run with.

use garland_core::units::bytes;
use garland_sys::signal::Interrupts;
use garland_topology::Topology;

use crate::scenario_lab::ScenarioLab;
use crate::table::Size;
use garland_commands::result::Phases;
use garland_commands::run::Run;
use garland_results::failure::Failure;

/// What an experiment is run with.
pub struct Stage<'a> {
    /// The run, whose folder everything is in.
    pub run: &'a Run,
    /// What is emulated, one after the other.
    pub topologies: &'a [Topology],
    /// The file's length as a share of the published one; the scenario's own without one.
    pub scale: Option<f64>,
    /// Requests to end, which are held back while a lab is up.
    pub interrupts: &'a Interrupts,
}

impl Stage<'_> {
    /// The length of a file that was published with `bytes`, at the scale that the user wants or else at
    /// `usual`; 1 at least.
    pub fn scaled(&self, bytes: &str, usual: f64) -> Result<Size, Failure> {
        let scale = self.scale.unwrap_or(usual);
        let length = bytes::parse(bytes).map_err(Failure::usage)?;
        Ok(Size { scale, bytes: ((length as f64 * scale) as u64).max(1) })
    }

    /// Builds the lab of a topology with room for so many bytes, has `work` done in it, which ends
    /// its own phases, and takes the lab down.
    pub fn in_lab<T>(
        &self,
        topology: &Topology,
        room: u64,
        phases: &mut Phases,
        work: impl FnOnce(&ScenarioLab<'_>, &mut Phases) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let bench =
            ScenarioLab::build(self.run, self.interrupts, ScenarioLab::spec(topology), room)?;
        let done = work(&bench, phases)?;
        bench.end()?;
        phases.end("teardown");
        Ok(done)
    }
}
