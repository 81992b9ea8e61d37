//! `garland forecast`: predicts the gain from more nodes.

mod drawn;
mod farms;
mod limits;
mod measured;
mod result;
mod table;

use garland_analysis::forecast::{
    Demand, Forecast as Prediction, Point, Prices, Question, Work, forecast,
};
use garland_copy::calibration;
use garland_core::units::bytes;
use garland_fleet::context::Context;
use garland_predict::Processors;
use garland_results::head::{Phases, show};
use garland_state::places::Places;
use garland_terminal::failure::{Exit, Failure};
use serde::Serialize;

pub use self::drawn::Drawn;
use self::farms::Jobs;
use self::limits::{CopyFloor, Moved, find_demands};
use self::measured::{Measured, counts};
use self::result::{ForecastResult, Simulated};
use crate::args::Forecast;

/// Forecasts from the runs or points that `asked` names.
pub fn run(context: &Context, asked: &Forecast) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let mut measured = Measured::read(&places, &asked.runs, &asked.points)?;
    let ahead = counts(&asked.nodes)?;
    let length = asked.copy.as_deref().map(bytes::parse).transpose()?;
    let copied = length.or(measured.copied);
    let drawn = match &asked.topology {
        Some(name) => Some(Drawn::load(name, asked.rate.as_deref(), asked.nics)?),
        None => None,
    };
    let processors = choose_processors(&places, &measured, drawn.is_some());
    phases.end("read");
    let cluster = Cluster { drawn, processors };
    let result = match copied {
        Some(length) => copies_forecast(asked, &mut measured, cluster, length, &ahead, phases)?,
        None => farm_forecast(asked, &mut measured, cluster, &ahead, phases)?,
    };
    show(context.json, &result)?;
    Ok(Exit::Done)
}

/// What is known of the cluster beside the measurements.
struct Cluster {
    /// The topology, if one was given.
    drawn: Option<Drawn>,
    /// The processors that limit the work, if they are known.
    processors: Option<Processors>,
}

/// Returns the processors that limit the work. Emulated nodes share those of this machine. With a
/// topology each node is taken to be a machine like this one. Otherwise nothing is known of the
/// nodes' machines: `None`.
fn choose_processors(places: &Places, measured: &Measured, has_wires: bool) -> Option<Processors> {
    let is_known = measured.is_emulated || has_wires;
    is_known.then(|| calibration::measured_processors(places, measured.is_emulated)).flatten()
}

fn farm_forecast(
    asked: &Forecast,
    measured: &mut Measured,
    cluster: Cluster,
    ahead: &[u32],
    mut phases: Phases,
) -> Result<ForecastResult, Failure> {
    let Cluster { mut drawn, processors } = cluster;
    let demands = find_demands(asked, drawn.as_mut(), measured, processors.as_ref())?;
    let work = Work::Fixed { jobs: asked.jobs.or(measured.jobs), demands: &demands };
    let mut forecast = predict(asked, &measured.points, work, ahead)?;
    let (simulated, miss) = match &mut drawn {
        Some(drawn) => {
            let farm = FarmModel {
                measured,
                moved: Moved::new(asked, measured).unwrap_or_default(),
                jobs: asked.jobs.or(measured.jobs),
                forecast: &forecast,
                demands: &demands,
                processors: processors.as_ref(),
            };
            farm.simulated(drawn, ahead)
        }
        None => (Vec::new(), 0.0),
    };
    for one in &simulated {
        forecast.hold(one.nodes, one.seconds, miss);
    }
    phases.end("forecast");
    let mut result = ForecastResult::new(phases, "fixed", measured, &demands);
    result.forecast = Some(forecast);
    result.simulated = simulated;
    if miss > MAX_SIMULATION_ERROR {
        result.notes.push(format!(
            "the simulator is {:.0} % off for the measured node counts, so its times for other counts are not \
             shown: its assumptions about the jobs do not hold",
            miss * 100.0
        ));
    }
    if drawn.is_some()
        && measured.bytes_in == 0
        && measured.bytes_out == 0
        && asked.bytes_in.is_none()
        && asked.bytes_out.is_none()
    {
        result.notes.push(
            "the topology has no effect without --bytes-in and --bytes-out, the bytes that all jobs transfer"
                .to_owned(),
        );
    }
    Ok(result)
}

/// The maximum mean relative error of a simulation whose times are used.
const MAX_SIMULATION_ERROR: f64 = 0.1;

/// Returns whether these processors are among the demands: those that are slower than the points
/// show are not.
fn is_demanded(demands: &[Demand], processors: &Processors) -> bool {
    demands.iter().any(|demand| demand.name == processors.common_name())
}

/// What the simulation of a farm needs beside a topology.
struct FarmModel<'a> {
    measured: &'a Measured,
    moved: Moved,
    /// The number of jobs, if it is known.
    jobs: Option<u32>,
    forecast: &'a Prediction,
    demands: &'a [Demand],
    /// The processors that limit the work, if they are known.
    processors: Option<&'a Processors>,
}

impl FarmModel<'_> {
    /// Simulates the farm job by job over the topology's wires. Returns the times for the node
    /// counts `ahead`, and the mean relative error for the measured node counts. The times are
    /// empty if the error exceeds [`MAX_SIMULATION_ERROR`], or nothing is known about the jobs.
    fn simulated(&self, drawn: &mut Drawn, ahead: &[u32]) -> (Vec<Simulated>, f64) {
        let Some(jobs) = self.jobs() else { return (Vec::new(), 0.0) };
        let mut on = |nodes: u32| {
            let mut floor = jobs.on(drawn, nodes)?;
            floor.seconds += self.forecast.fixed_seconds;
            Some(Simulated::new(nodes, &floor, 0))
        };
        let points = self.measured.points.iter();
        let errors: Vec<f64> = points
            .filter_map(|point| Some((on(point.nodes)?.seconds / point.seconds - 1.0).abs()))
            .collect();
        let miss = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        if miss > MAX_SIMULATION_ERROR {
            return (Vec::new(), miss);
        }
        (ahead.iter().filter_map(|nodes| on(*nodes)).collect(), miss)
    }

    /// Returns the jobs to simulate: those that were measured, or else similar ones.
    fn jobs(&self) -> Option<Jobs> {
        let shared: f64 = self.demands.iter().map(|demand| demand.seconds).sum();
        // The processors that jobs use are no other time than that of the jobs.
        let processors = self.processors.filter(|known| is_demanded(self.demands, known));
        let used = processors.filter(|known| known.is_shared).map_or(0.0, |_| self.measured.cpu);
        let count = processors.map_or(1.0, |known| known.count);
        let own = self.forecast.work_seconds - shared + used / count;
        let alike = || Jobs::alike(self.jobs?, own, self.moved);
        let jobs = Jobs::measured(&self.measured.each, own).or_else(alike)?;
        Some(match processors {
            Some(known) => jobs.on_processors(*known, used),
            None => jobs,
        })
    }
}

fn copies_forecast(
    asked: &Forecast,
    measured: &mut Measured,
    cluster: Cluster,
    length: u64,
    ahead: &[u32],
    mut phases: Phases,
) -> Result<ForecastResult, Failure> {
    let Cluster { drawn, processors } = cluster;
    let floor = drawn.map(|drawn| CopyFloor::new(drawn, length, asked.shape, processors));
    let floor = floor.transpose()?.map(|floor| floor.allowing(measured));
    let to = |nodes: u32| floor.as_ref().map(|floor| floor.to(nodes)).unwrap_or_default();
    let simulated: Vec<Simulated> = match &floor {
        Some(_) => ahead.iter().map(|&nodes| Simulated::new(nodes, &to(nodes), length)).collect(),
        None => Vec::new(),
    };
    let alone = measured.points.is_empty() && floor.is_some();
    let forecast = match alone {
        true => None,
        false => {
            let work = Work::Growing { floor: &to, starts: measured.starts_each() };
            Some(predict(asked, &measured.points, work, ahead)?)
        }
    };
    phases.end("forecast");
    let mut result = ForecastResult::new(phases, "growing", measured, &[]);
    result.bytes = Some(length);
    result.forecast = forecast;
    result.simulated = simulated;
    if alone {
        result.notes.push(
            "nothing was measured: these are bounds from wires, disks, and processors like this machine's; no copy can be faster"
                .to_owned(),
        );
    }
    Ok(result)
}

fn predict(
    asked: &Forecast,
    points: &[Point],
    work: Work<'_>,
    ahead: &[u32],
) -> Result<Prediction, Failure> {
    let prices =
        asked.node_price.map(|node| Prices { node, fixed: asked.fixed_price.unwrap_or_default() });
    if prices.is_some_and(|prices| !(prices.node >= 0.0 && prices.fixed >= 0.0)) {
        return Err(Failure::usage("a price must be at least 0"));
    }
    forecast(&Question { points, work, ahead, prices }).map_err(|refusal| {
        let failure = Failure::usage(refusal);
        if points.is_empty() {
            failure
                .hint("give measured times, such as --points 1=24:10,2=12:30,4=6:35,8=3:50, or names of runs")
        } else {
            failure
        }
    })
}

/// Makes a forecast from runs of the same work on different node counts, without a topology.
pub fn of_runs(places: &Places, runs: &[String]) -> Result<impl Serialize + use<>, Failure> {
    let mut phases = Phases::begin();
    let mut measured = Measured::read(places, runs, &[])?;
    phases.end("read");
    let most = measured.points.iter().map(|point| point.nodes).max().unwrap_or(1);
    let ahead: Vec<u32> = (1..=most.saturating_mul(4).clamp(16, 256)).collect();
    let asked = Forecast { jobs: measured.jobs, ..Forecast::default() };
    let cluster = Cluster { drawn: None, processors: choose_processors(places, &measured, false) };
    match measured.copied {
        Some(length) => copies_forecast(&asked, &mut measured, cluster, length, &ahead, phases),
        None => farm_forecast(&asked, &mut measured, cluster, &ahead, phases),
    }
}
