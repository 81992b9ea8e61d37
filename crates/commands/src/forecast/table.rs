//! The table of `garland forecast`.

use std::fmt;

use garland_analysis::forecast::{At, Curve, Fit, Forecast, Parameter};
use garland_core::units::{Nanos, Rate, bytes};

use super::result::{ForecastResult, Simulated};

/// The maximum number of rows of a curve that is printed completely.
const ROWS: usize = 16;

impl fmt::Display for ForecastResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_title(f)?;
        match &self.forecast {
            Some(forecast) => {
                write_curve(f, forecast, &self.simulated)?;
                write_facts(f, forecast)?;
            }
            None => self.write_simulated(f)?,
        }
        for limit in &self.limits {
            writeln!(f, "limit   {}: {}", limit.name, time(limit.seconds))?;
        }
        let notes = self.forecast.iter().flat_map(|forecast| &forecast.notes);
        notes.chain(&self.notes).try_for_each(|note| writeln!(f, "note    {note}"))
    }
}

impl ForecastResult {
    fn write_title(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.bytes {
            Some(length) => format!("a copy of {} to each node", bytes::format(length)),
            None => "work that nodes share".to_owned(),
        };
        if self.points.is_empty() {
            return writeln!(f, "{what}; simulated, not measured\n");
        }
        let points = self.points.iter().map(|measured| {
            let point = measured.point;
            format!("{} {}", point.nodes, time(point.seconds))
        });
        let points = points.collect::<Vec<_>>().join(", ");
        writeln!(f, "{what}; measured on nodes: {points}\n")
    }

    fn write_simulated(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>6} {:>11} {:>27}  busy all the time", "nodes", "time", "rate")?;
        let rows = chosen(self.simulated.len(), |row| self.simulated[row].nodes);
        for row in rows.into_iter().map(|row| &self.simulated[row]) {
            let rate = Rate::from_bytes_per_second(row.rate as u64);
            let seconds = time(row.seconds);
            writeln!(f, "{:>6} {seconds:>11} {rate:>27}  {}", row.nodes, row.limit)?;
        }
        writeln!(f)
    }
}

/// Formats a time, given in seconds.
fn time(seconds: f64) -> String {
    Nanos((seconds * 1e9).round() as u64).to_string()
}

/// Returns the rows to print: all if they are few; else those whose number of nodes is a power of
/// two or a multiple of 8 up to 64, and the last row.
fn chosen(count: usize, nodes: impl Fn(usize) -> u32) -> Vec<usize> {
    let is_shown = |row: &usize| {
        count <= ROWS
            || nodes(*row).is_power_of_two()
            || nodes(*row).is_multiple_of(8) && nodes(*row) <= 64
            || row + 1 == count
    };
    (0..count).filter(is_shown).collect()
}

fn write_curve(
    f: &mut fmt::Formatter<'_>,
    forecast: &Forecast,
    simulated: &[Simulated],
) -> fmt::Result {
    let priced = forecast.curve.iter().any(|at| at.cost.is_some());
    write!(
        f,
        "{:>6} {:>11} {:>25} {:>8} {:>11} {:>11}",
        "nodes", "time", "nine times of ten", "power", "by Amdahl", "by USL"
    )?;
    if priced {
        write!(f, " {:>12} {:>12} {:>12}", "price", "of power", "of more")?;
    }
    if !simulated.is_empty() {
        write!(f, " {:>11}  busiest", "simulated")?;
    }
    writeln!(f)?;
    for row in chosen(forecast.curve.len(), |row| forecast.curve[row].nodes) {
        let at = &forecast.curve[row];
        write_row(f, at)?;
        match simulated.iter().find(|one| one.nodes == at.nodes) {
            Some(one) => writeln!(f, " {:>11}  {}", time(one.seconds), one.limit)?,
            None => writeln!(f)?,
        }
    }
    writeln!(f)
}

fn write_row(f: &mut fmt::Formatter<'_>, at: &At) -> fmt::Result {
    let dash = || "-".to_owned();
    let interval = at.interval.map(|(low, high)| format!("{} .. {}", time(low), time(high)));
    write!(
        f,
        "{:>6} {:>11} {:>25} {:>8.2} {:>11} {:>11}",
        at.nodes,
        time(at.seconds),
        interval.unwrap_or_else(dash),
        at.power,
        at.amdahl.map_or_else(dash, time),
        at.usl.map_or_else(dash, time)
    )?;
    if let Some(cost) = at.cost {
        let more =
            cost.of_more.map_or_else(|| "nothing more".to_owned(), |more| format!("{more:.2}"));
        write!(f, " {:>12.2} {:>12.2} {more:>12}", cost.price, cost.of_power)?;
    }
    Ok(())
}

fn write_facts(f: &mut fmt::Formatter<'_>, forecast: &Forecast) -> fmt::Result {
    match &forecast.knee {
        Some(knee) => {
            writeln!(f, "knee    {:.1} nodes: {}; {}", knee.nodes, knee.resource, knee.why)?
        }
        None => writeln!(f, "knee    none within the predicted range")?,
    }
    if let Some(enough) = forecast.enough {
        writeln!(f, "enough  {enough} nodes: further nodes gain less than 5 %")?;
    }
    let miss = forecast.miss * 100.0;
    writeln!(f, "law     {}; {miss:.1} % from the points on average", forecast.law.describe())?;
    for rival in &forecast.rivals {
        writeln!(f, "rival   {}: the points do not rule it out", rival.describe())?;
    }
    if let Some(test) = forecast.back_test {
        let predicted = time(test.predicted);
        let measured = time(test.measured);
        writeln!(
            f,
            "test    {} nodes predicted from the others: {predicted}; measured {measured} ({:+.1} %)",
            test.nodes,
            test.error * 100.0
        )?;
    }
    [forecast.amdahl, forecast.usl].iter().flatten().try_for_each(|fit| write_fit(f, fit))
}

fn write_fit(f: &mut fmt::Formatter<'_>, fit: &Fit) -> fmt::Result {
    let share = |parameter: Parameter| {
        let error = parameter.error.map(|error| format!(" ± {:.2}", error * 100.0));
        format!("{:.2}{} %", parameter.value * 100.0, error.unwrap_or_default())
    };
    let one = share(fit.contention);
    let miss = fit.miss * 100.0;
    match fit.curve {
        Curve::Amdahl => write!(f, "amdahl  {one} of the work is serial")?,
        Curve::Usl => {
            let pairs = share(fit.coherency);
            let peak = fit.peak.map(|peak| format!(", most power with {peak:.0} nodes"));
            write!(
                f,
                "usl     {one} serial, {pairs} for each pair of nodes{}",
                peak.unwrap_or_default()
            )?;
        }
    }
    let held = if fit.held { "; a parameter below 0 was set to 0" } else { "" };
    writeln!(f, "; {miss:.1} % from the points{held}")
}
