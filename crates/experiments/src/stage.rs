//! The inputs of an experiment that are not in its file.

use garland_core::units::bytes;
use garland_results::head::Phases;
use garland_state::run::Run;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::Failure;
use garland_topology::Topology;

use crate::scenario_lab::ScenarioLab;
use crate::table::Size;

/// The inputs of an experiment that are not in its file: run, topologies, scale.
pub struct Stage<'a> {
    /// The run that records the experiment.
    pub run: &'a Run,
    /// The scenario's file, or the name of a built-in scenario.
    pub file: &'a str,
    /// The topologies, in the order in which they are emulated.
    pub topologies: &'a [Topology],
    /// The scale that the user asked for: the length of files as a share of the published length.
    /// `None` for the default scale of the scenario.
    pub scale: Option<f64>,
    /// Interrupts by the user, which are held back while a lab is up.
    pub interrupts: &'a Interrupts,
}

impl Stage<'_> {
    /// Returns the size of a file whose published length is `bytes`, at the scale of the user or
    /// else at the scale `usual`; at least 1 byte.
    pub fn scaled(&self, bytes: &str, usual: f64) -> Result<Size, Failure> {
        let scale = self.scale.unwrap_or(usual);
        let length = bytes::parse(bytes).map_err(Failure::usage)?;
        Ok(Size { scale, bytes: ((length as f64 * scale) as u64).max(1) })
    }

    /// Builds a lab of `topology` with space for `room` bytes of files, calls `work`, and removes
    /// the lab. `work` must end its own phases.
    pub fn in_lab<T>(
        &self,
        topology: &Topology,
        room: u64,
        phases: &mut Phases,
        work: impl FnOnce(&ScenarioLab<'_>, &mut Phases) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let lab = self.lab(topology, room)?;
        let done = work(&lab, phases)?;
        lab.end()?;
        phases.end("teardown");
        Ok(done)
    }

    /// Returns the topology `name` of the scenario.
    pub fn topology(&self, name: &str) -> Result<&Topology, Failure> {
        let topology = self.topologies.iter().find(|one| one.name == name);
        topology.ok_or_else(|| Failure::usage(format!("{name} is not in `topologies`")))
    }

    /// Builds a lab of `topology` with space for `room` bytes of files.
    pub fn lab(&self, topology: &Topology, room: u64) -> Result<ScenarioLab<'_>, Failure> {
        ScenarioLab::build(self.run, self.interrupts, ScenarioLab::spec(topology), room)
    }

    /// Returns an error if the user has interrupted. Interrupts are held back while a lab is up.
    pub fn go_on(&self) -> Result<(), Failure> {
        if self.interrupts.pending() { Err(Failure::interrupted("using labs")) } else { Ok(()) }
    }
}
