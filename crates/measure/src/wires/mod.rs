//! `garland wires`: measures every pair of nodes, and reports parts slower than their peers.

mod evidence;
mod measured;
mod meetings;
mod naming;
mod result;
mod sweep;
mod table;

use garland_analysis::conditions::{Conditions, Purpose};
use garland_control::{Agent, Session};
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_protocol::operation::wires::{Rail, Survey};
use garland_results::head::{Head, Phases, tell};
use garland_results::wires_baseline::Baseline;
use garland_results::wires_baseline::{self, SCHEMA};
use garland_state::places::Places;
use garland_sys::clock;
use garland_sys::processors::Processors;
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::notes::guard_rails;
use garland_terminal::screen::Screen;

use self::measured::Measured;
use self::meetings::Meetings;
use self::naming::{Measure, Named};
use self::result::{WiresFindings, WiresResult};
use crate::args::Wires;
use crate::gather::{Gathered, Talk, emulator, end_agents, gather};

/// The fraction of the baseline's rate below which the average rate causes a warning.
const SLOWER: f64 = 0.9;

/// The fraction of lost segments from which on a warning tells of it.
const LOSSY: f64 = 0.005;

/// Runs `garland wires`: measures all pairs of nodes and prints the result, or runs the sweep.
pub fn run(context: &Context, wires: &Wires) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let inventory = Inventory::open(context)?;
    let nodes = inventory.nodes(&wires.nodes)?;
    if nodes.len() < 2 {
        return Err(Failure::usage("wires needs two nodes or more")
            .hint("with four nodes or more, a faulty one can be located"));
    }
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let baseline = match wires.sweep {
        true => None,
        false => wires_baseline::find(&Places::open()?, wires.base.as_deref(), &names)?,
    };
    let launch = &wires.launch;
    let over = Talk::OverWires;
    let mut gathered = gather("wires", &nodes, &inventory, launch, context.json, over, phases)?;
    gathered.ensure_links(&nodes)?;
    if wires.sweep {
        return sweep::run(context, &names, &nodes, gathered);
    }
    let Gathered { mut phases, interrupts, lab, run, fleet } = gathered;
    // With MPTCP, one connection uses all NICs.
    let rails = match wires.launch.takes_mptcp(lab.as_ref()) {
        true => 1,
        false => fewest_rails(&fleet.agents).min(wires.rails.map_or(usize::MAX, usize::from)),
    };
    let session = Session::new(fleet.agents, Some(&interrupts));
    let absent = session.closed().to_vec();
    let never: Vec<bool> = absent.iter().map(Option::is_some).collect();
    let mut meetings = Meetings::new(session);
    let mut survey = Survey::new(absent, rails, wires.streams);
    let since = Processors::now();
    let mut screen = Screen::new(context.json);
    meetings.hold(&mut survey, &mut |line| screen.draw(clock::now_ns(), &[line]))?;
    drop(screen);
    let cpu = since.busy_since();
    phases.end("rounds");
    let findings = findings_of(&names, &survey, &never, baseline.as_ref(), cpu);
    // Agents exit when their channels close.
    drop(meetings);
    end_agents(fleet.children, findings.measured.interrupted, &mut phases);
    let result = WiresResult { head: Head::new(SCHEMA, Some(&run), phases), findings };
    tell(&run, context.json, &result)?;
    Ok(exit(&result.findings))
}

/// Returns the number of NICs that can be measured on every node: the least number among the
/// agents.
fn fewest_rails(agents: &[Result<Agent, String>]) -> usize {
    agents.iter().flatten().map(|agent| agent.addresses.len()).min().unwrap_or(1).max(1)
}

/// Returns the measurements of a survey, and the faults that they show.
fn findings_of(
    names: &[&str],
    survey: &Survey,
    never: &[bool],
    baseline: Option<&Baseline>,
    cpu: f64,
) -> WiresFindings {
    let (faults, baseline) = result::judge(survey, baseline, names);
    let rails = survey.rails.iter();
    let measured = Measured {
        cpu,
        warnings: warnings(names, survey, cpu, baseline.as_ref(), &faults),
        interrupted: survey.interrupted,
    };
    WiresFindings {
        nodes: result::nodes(survey, names, never),
        directions: result::directions(survey, names),
        failed: result::failed(survey, names),
        loads: result::loads(survey),
        rails: survey.rails.len(),
        at_once: rails.clone().map(|rail| rail.at_once).min().unwrap_or(1),
        rounds: rails.map(|rail| rail.rounds).sum(),
        bisection: survey.bisection,
        faults,
        baseline,
        measured,
    }
}

fn warnings(
    names: &[&str],
    survey: &Survey,
    cpu: f64,
    baseline: Option<&result::BaselineResult>,
    faults: &[Named],
) -> Vec<String> {
    let remedy = "use a lower rate";
    let mut warnings: Vec<String> =
        emulator(names.iter().copied(), cpu, remedy).into_iter().collect();
    for (rail, found) in survey.rails.iter().enumerate() {
        let most = found.loads.last().map_or(0, |load| load.pairs);
        let at_once = found.at_once;
        if at_once < most {
            let on =
                if survey.rails.len() > 1 { format!("on rail {rail}, ") } else { String::new() };
            warnings.push(format!(
                "{on}more than {at_once} pairs at once slow each other down: pairs were measured \
                 {at_once} at a time"
            ));
        }
        if found.forgotten > 0 {
            warnings.push(format!(
                "{} further pairs seem to share wires with others; they were not measured alone",
                found.forgotten
            ));
        }
        let of_rail = survey.conditions.iter().filter(|((at, _), _)| *at == rail);
        let of_rail: Vec<(&str, &Conditions)> =
            of_rail.map(|(&(_, node), conditions)| (names[node], conditions)).collect();
        for warning in guard_rails(&of_rail, Purpose::Rates) {
            // A warning about a node is found on each of its rails.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    if faults.iter().all(|fault| fault.by != Measure::Loss) {
        warnings.extend(survey.rails.iter().filter_map(|rail| loss(names, rail)));
    }
    if names.len() < 4 {
        warnings.push("with fewer than four nodes, no fault can be located".to_owned());
    }
    if let Some(baseline) = baseline.filter(|baseline| baseline.share < SLOWER) {
        let share = baseline.share * 100.0;
        warnings.push(format!(
            "pairs are slower than in run {}: on average {share:.0} % of their rate there",
            baseline.run
        ));
    }
    warnings
}

/// Returns a warning about losses that no comparison of parts shows: half of all directions have
/// them, or there are too few to compare.
fn loss(names: &[&str], rail: &Rail) -> Option<String> {
    let sent = rail.directions.iter().map(|(ends, way)| (way.sent(), ends));
    let lost = sent.filter(|((segments, _), _)| *segments > 0.0);
    let mut lost: Vec<(f64, &(usize, usize))> =
        lost.map(|((segments, again), ends)| (again / segments, ends)).collect();
    lost.sort_by(|a, b| a.0.total_cmp(&b.0));
    let few = names.len() < 4;
    let at = if few { lost.len().checked_sub(1)? } else { lost.len() / 2 };
    let (share, (from, to)) = lost.get(at).filter(|(share, _)| *share >= LOSSY)?;
    let percent = share * 100.0;
    Some(match few {
        true => format!(
            "{percent:.1} % of the segments from {} to {} are lost",
            names[*from], names[*to]
        ),
        false => {
            format!("{percent:.1} % and more of the segments of half of the directions are lost")
        }
    })
}

fn exit(result: &WiresFindings) -> Exit {
    let any = !result.directions.is_empty();
    let whole = result.failed.is_empty() && result.nodes.iter().all(|node| node.end.is_ok());
    let has_fault = !result.faults.is_empty();
    Exit::of_check(has_fault, any && whole, any, result.measured.interrupted)
}
