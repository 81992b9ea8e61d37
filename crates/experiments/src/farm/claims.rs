//! The published figures and orders of the encodes and copies, each with what was measured.

use garland_analysis::grade::{Published, Sample};
use garland_core::units::bytes;

use super::job::{ONE, PublishedRow};
use super::row::{CopyRow, Row, SuspectRow, share_of_one};
use super::table::{MIB, Table};
use crate::claim::Claim;

impl Table {
    /// Returns the published figures of each load and of the copies, and the orders of the
    /// networks. Times are in seconds of the publication.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for load in &self.experiment.job.load {
            let rows = self.rows.iter().filter(|row| row.load == load.name);
            let rows: Vec<_> = rows
                .filter_map(|row| {
                    let then = self.experiment.published(&row.topology, Some(&row.load))?;
                    Some((row, then))
                })
                .collect();
            for (row, then) in &rows {
                claims.extend(self.tried(row, |row| self.encodes_of(row, then)));
            }
            for (at, (row, then)) in rows.iter().enumerate() {
                let before = rows[..at].iter().filter(|(other, _)| other.topology != ONE);
                claims.extend(before.flat_map(|(other, first)| {
                    let what = format!("{}: {} over {}", row.load, row.topology, other.topology);
                    let order = |row: &Row, other: &Row| {
                        let over = quotient(row, other);
                        let claim = Claim::order(&what, &then.slowest, &first.slowest, over);
                        claim.into_iter().collect()
                    };
                    self.tried(other, |other| self.tried(row, |row| order(row, other)))
                }));
            }
        }
        claims.extend(self.copied());
        claims.extend(self.more_nodes());
        claims
    }

    /// Returns the claims about growing numbers of nodes: their least power, and whether few of
    /// them could have told their time.
    fn more_nodes(&self) -> Vec<Claim> {
        let Some((growth, grown)) = self.grown() else { return Vec::new() };
        let curve = grown.curve(growth);
        let of = format!("{}, {}", growth.load, growth.topology);
        let (one, _) = self.experiment.power();
        let figures = grown.rows.iter().filter_map(|row| {
            let then = self.least_of(growth, row.nodes)?;
            let power =
                curve.power(row).map_or_else(Sample::none, |power| Sample::new(power * one));
            let what = format!("{of}, power of {} PCs", row.nodes);
            Some(Claim::at_least(what, "MHz", then, power.voided(curve.lags(row))))
        });
        figures.chain(curve.told(&format!("{of}: "))).collect()
    }

    /// Returns the claims about one load over one topology.
    fn encodes_of(&self, row: &Row, then: &PublishedRow) -> Vec<Claim> {
        let name = format!("{}, {}", row.load, row.name());
        let seconds = self.common.scaling.seconds;
        let jobs = row.spread.as_ref();
        let one = self.rows.iter().find(|one| one.topology == ONE && one.load == row.load);
        let over_one =
            |value: Option<f64>| row.sample(value).voided(one.is_some_and(|one| one.busy.lags()));
        let percent = share_of_one(&self.rows, row).map(|share| share * 100.0);
        let times = Claim::figure(
            format!("{name}, slowest"),
            "s",
            &then.slowest,
            row.sample(Some(row.seconds * seconds)),
        );
        let mut claims = vec![times.calibrated(then.calibrated.as_deref())];
        let figures: [(&str, &str, &Option<Published>, Sample); 6] = [
            ("fastest", "s", &then.fastest, row.sample(jobs.map(|jobs| jobs.fastest * seconds))),
            ("DIFF", "s", &then.difference, row.sample(jobs.map(|jobs| jobs.difference * seconds))),
            ("DIFF %", "%", &then.spread, row.sample(jobs.map(|jobs| jobs.share * 100.0))),
            ("of one PC", "%", &then.percent, over_one(percent)),
            ("equivalent power", "MHz", &then.power, over_one(row.equivalent)),
            ("of all", "%", &then.of_all, over_one(row.difference.map(|off| off * 100.0))),
        ];
        // One PC is all of itself, which says nothing.
        let figures = figures.into_iter().filter(|_| row.topology != ONE);
        let published = figures.filter_map(|(figure, unit, then, sample)| {
            Some(Claim::figure(format!("{name}, {figure}"), unit, then.as_ref()?, sample))
        });
        claims.extend(published);
        let percent: fn(f64) -> f64 = |share| share * 100.0;
        let gain: fn(f64) -> f64 = |share| (1.0 - share) * 100.0;
        let rebased = then.rebased.iter().map(|of| (of, "of", percent));
        for ((base, then), word, of) in
            rebased.chain(then.gain.iter().map(|over| (over, "gain over", gain)))
        {
            let is_base = |other: &&Row| other.load == row.load && other.topology == *base;
            let Some(base) = self.rows.iter().find(is_base) else { continue };
            let what = format!("{name}, {word} {}", base.name());
            claims.extend(self.tried(base, |base| {
                let sample = row.sample(quotient(row, base).value.map(of));
                vec![Claim::figure(&what, "%", then, sample.voided(base.busy.lags()))]
            }));
        }
        claims
    }

    /// Returns the claims of `row`, each with what was measured with the faults that were tried
    /// there.
    fn tried(&self, row: &Row, claims: impl Fn(&Row) -> Vec<Claim>) -> Vec<Claim> {
        self.with_faults(row).fold(claims(row), |all, tried| {
            let pairs = all.into_iter().zip(claims(&tried.row));
            pairs.map(|(claim, with)| claim.with(tried.fault.clone(), with.sample)).collect()
        })
    }

    /// Returns the claims about the copies through the mount. Each suspect is a condition of the
    /// time.
    fn copied(&self) -> Vec<Claim> {
        let rows = self
            .common
            .copies
            .iter()
            .filter_map(|copy| Some((copy, self.experiment.published(&copy.topology, None)?)));
        let rows: Vec<_> = rows.collect();
        let Some((base, _)) = rows.first() else { return Vec::new() };
        let mut claims = Vec::new();
        for (copy, then) in &rows {
            let name = format!("copy over {}", copy.topology);
            let size = bytes::parse(&self.experiment.job.copy.bytes).unwrap_or_default() as f64;
            let sample = |of: fn(f64, f64) -> f64, rate: f64| copy.sample(of(size, rate));
            let mut figure = |what: &str, unit, then: &Published, of: fn(f64, f64) -> f64| {
                let rate = self.rate_then(copy);
                let claim = Claim::figure(format!("{name}, {what}"), unit, then, sample(of, rate));
                claims.push(self.suspected(claim, |row| {
                    self.of_suspect(row, &copy.topology).map(|rate| of(size, rate))
                }));
            };
            figure("time", "s", &then.slowest, |size, rate| size / rate);
            if let Some(then) = &then.rate {
                figure("rate", "MiB/s", then, |_, rate| rate / MIB);
            }
            if let Some(then) = then.percent.as_ref().filter(|_| copy.topology != base.topology) {
                let percent = self.rate_then(base) / self.rate_then(copy) * 100.0;
                let what = format!("{name}, of {}", base.topology);
                let sample = copy.sample(percent).voided(base.busy.lags());
                let claim = Claim::figure(what, "%", then, sample);
                claims.push(self.suspected(claim, |row| {
                    let of = |copy: &CopyRow| self.of_suspect(row, &copy.topology);
                    Some(of(base)? / of(copy)? * 100.0)
                }));
            }
        }
        for (at, (copy, then)) in rows.iter().enumerate() {
            for (other, first) in &rows[..at] {
                let what = format!("copy: {} over {}", copy.topology, other.topology);
                let over = self.rate_then(other) / self.rate_then(copy);
                let sample = copy.sample(over).voided(other.busy.lags());
                let claim = Claim::order(what, &then.slowest, &first.slowest, sample);
                claims.extend(claim.map(|claim| {
                    self.suspected(claim, |row| {
                        let of = |copy: &CopyRow| self.of_suspect(row, &copy.topology);
                        Some(of(other)? / of(copy)?)
                    })
                }));
            }
        }
        claims
    }

    /// Adds to a claim what was measured with each suspect that concerns it.
    fn suspected(&self, claim: Claim, value: impl Fn(&SuspectRow) -> Option<f64>) -> Claim {
        let tried = self.common.suspects.iter().filter_map(|row| {
            let sample = Sample::new(value(row)?).voided(row.busy.lags());
            Some((row.suspect.clone()?, sample))
        });
        tried.fold(claim, |claim, (condition, sample)| claim.with(condition, sample))
    }

    /// Returns the rate over a topology with a suspect; `None` unless it was tried there.
    fn of_suspect(&self, row: &SuspectRow, topology: &str) -> Option<f64> {
        let riddle = &self.experiment.job.riddle;
        match topology {
            slow if slow == riddle.slow => row.slow,
            fast if fast == riddle.fast => row.fast,
            _ => None,
        }
    }
}

/// Returns the quotient of the times of two rows.
fn quotient(row: &Row, other: &Row) -> Sample {
    row.sample(Some(row.seconds / other.seconds)).voided(other.busy.lags())
}
