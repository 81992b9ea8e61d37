//! The table of compared runs.

use std::fmt::{self, Formatter};

use garland_analysis::farm::bar;

use super::result::{CompareResult, Row};
use crate::result::took;

impl fmt::Display for CompareResult {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let width = self.runs.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
        writeln!(f, "{} jobs; 100 % is {}\n", self.jobs, self.base)?;
        for row in &self.runs {
            let of_base = format!("{:.2} %", row.of_base * 100.0);
            let label = &row.label;
            let time = took(row.seconds);
            writeln!(f, "{label:<width$} {time:>9}{of_base:>10}  {}", bar(row.of_base))?;
        }
        self.figures(f, width)?;
        self.prices(f, width)?;
        write!(f, "\nfor these jobs {} is the fastest", self.fastest)?;
        match &self.cheapest {
            Some(cheapest) if *cheapest == self.fastest => {
                writeln!(f, ", and the best for its price")
            }
            Some(cheapest) => writeln!(f, "; {cheapest} is the best for its price"),
            None => writeln!(f),
        }
    }
}

impl CompareResult {
    fn figures(&self, f: &mut Formatter<'_>, width: usize) -> fmt::Result {
        let unit = self.unit.as_deref().unwrap_or("power");
        writeln!(
            f,
            "\n{:<width$} {:>5}{:>6}{:>10}{:>10}{:>10}{:>9}{:>10}{:>9}{unit:>8}{:>9}",
            "",
            "rank",
            "nodes",
            "slowest",
            "fastest",
            "DIFF",
            "DIFF %",
            "slowdown",
            "speed-up",
            "of all"
        )?;
        self.runs.iter().try_for_each(|row| self.line(f, row, width))
    }

    fn line(&self, f: &mut Formatter<'_>, row: &Row, width: usize) -> fmt::Result {
        let dash = || "-".to_owned();
        let job = |of: fn(&garland_analysis::farm::Spread) -> f64| {
            row.spread.as_ref().map_or_else(dash, |spread| took(of(spread)))
        };
        let share = row.spread.map_or_else(dash, |spread| format!("{:.1}", spread.share * 100.0));
        let slowdown = row.slowdown.map_or_else(dash, |slowdown| format!("{slowdown:.2}"));
        let standing = |digits: usize, of: fn(&garland_analysis::farm::Standing) -> f64| {
            row.standing.as_ref().map_or_else(dash, |one| format!("{:.digits$}", of(one)))
        };
        writeln!(
            f,
            "{:<width$} {:>5}{:>6}{:>10}{:>10}{:>10}{share:>9}{slowdown:>10}{:>9}{:>8}{:>9}",
            row.label,
            row.rank.place,
            row.nodes,
            job(|spread| spread.slowest),
            job(|spread| spread.fastest),
            job(|spread| spread.difference),
            standing(2, |one| one.speed_up),
            standing(if self.is_fine() { 2 } else { 0 }, |one| one.equivalent),
            standing(1, |one| one.difference * 100.0),
        )
    }

    /// Returns whether powers are small numbers, such as numbers of cores, and need decimals.
    fn is_fine(&self) -> bool {
        self.runs.iter().filter_map(|row| row.standing).all(|one| one.theory < 100.0)
    }

    fn prices(&self, f: &mut Formatter<'_>, width: usize) -> fmt::Result {
        if self.runs.iter().all(|row| row.price.is_none()) {
            return Ok(());
        }
        let by_power = self.unit.is_some() && self.runs.iter().all(|row| row.standing.is_some());
        let per = match &self.unit {
            Some(unit) if by_power => format!("per {unit}"),
            _ => "times hours".to_owned(),
        };
        writeln!(f, "\n{:<width$} {:>5}{:>12}{per:>14}", "", "rank", "price")?;
        for row in &self.runs {
            let dash = || "-".to_owned();
            let place = row.rank.price_place.map_or_else(dash, |place| place.to_string());
            let price = row.price.map_or_else(dash, |price| format!("{price:.2}"));
            let each = row.rank.price_per_performance;
            let each = each.map_or_else(dash, |each| format!("{each:.4}"));
            writeln!(f, "{:<width$} {place:>5}{price:>12}{each:>14}", row.label)?;
        }
        Ok(())
    }
}
