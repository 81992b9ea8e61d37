//! The figures and orders of the encodes, as measured.

use garland_analysis::grade::Sample;

use super::job::ONE;
use super::row::{Row, share_of_one};
use super::table::Table;
use crate::claim::Claim;

impl Table {
    /// Returns the figures of each load, and the quotients of the networks. Times are in seconds of
    /// the publication.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for load in &self.experiment.job.load {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.load == load.name).collect();
            for row in &rows {
                claims.extend(self.tried(row, |row| self.encodes_of(row)));
            }
            for (at, row) in rows.iter().enumerate() {
                let before = rows[..at].iter().filter(|other| other.topology != ONE);
                claims.extend(before.flat_map(|other| {
                    self.tried(other, |other| self.tried(row, |row| beside(row, other)))
                }));
            }
        }
        claims.extend(self.loads());
        claims.extend(self.more_nodes());
        claims
    }

    /// Returns the time of one PC with each load but the first, divided by that with the first.
    fn loads(&self) -> Vec<Claim> {
        let mut ones = self.rows.iter().filter(|row| row.topology == ONE);
        let Some(first) = ones.next() else { return Vec::new() };
        let over = |one: &Row| {
            let quotient = one.sample(Some(one.seconds / first.seconds));
            let what = format!("{}, one PC, of {}", one.load, first.load);
            Claim::quotient(what, quotient.voided(first.busy.lags()))
        };
        ones.map(over).collect()
    }

    /// Returns the powers of growing numbers of nodes, and whether few of them could have told
    /// their time.
    fn more_nodes(&self) -> Vec<Claim> {
        let Some((growth, grown)) = self.grown() else { return Vec::new() };
        let curve = grown.curve(growth);
        let of = format!("{}, {}", growth.load, growth.topology);
        let (one, _) = self.experiment.power();
        let figures = grown.rows.iter().map(|row| {
            let power =
                curve.power(row).map_or_else(Sample::none, |power| Sample::new(power * one));
            let what = format!("{of}, power of {} PCs", row.nodes);
            Claim::measured(what, "MHz", power.voided(curve.lags(row)))
        });
        figures.chain(curve.told(&format!("{of}: "))).collect()
    }

    /// Returns the figures of one load over one topology.
    fn encodes_of(&self, row: &Row) -> Vec<Claim> {
        let name = format!("{}, {}", row.load, row.name());
        let seconds = self.common.scaling.seconds;
        let slowest = row.sample(Some(row.seconds * seconds));
        let slowest = Claim::measured(format!("{name}, slowest"), "s", slowest);
        // One PC is all of itself, which says nothing.
        if row.topology == ONE {
            return vec![slowest];
        }
        let jobs = row.spread.as_ref();
        let one = self.rows.iter().find(|one| one.topology == ONE && one.load == row.load);
        let over_one =
            |value: Option<f64>| row.sample(value).voided(one.is_some_and(|one| one.busy.lags()));
        let percent = share_of_one(&self.rows, row).map(|share| share * 100.0);
        let claim =
            |figure: &str, unit, sample| Claim::measured(format!("{name}, {figure}"), unit, sample);
        let mut claims = vec![
            slowest,
            claim("fastest", "s", row.sample(jobs.map(|jobs| jobs.fastest * seconds))),
            claim("DIFF", "s", row.sample(jobs.map(|jobs| jobs.difference * seconds))),
            claim("DIFF %", "%", row.sample(jobs.map(|jobs| jobs.share * 100.0))),
            claim("of one PC", "%", over_one(percent)),
            claim("equivalent power", "MHz", over_one(row.equivalent)),
            claim("of all", "%", over_one(row.difference.map(|off| off * 100.0))),
            claim("jobs of less than 14 minutes", "jobs", row.sample(self.short_jobs(row))),
            claim("load of the server's NICs", "KB/s", row.sample(self.load(row))),
        ];
        let worked = work_over_losses(row);
        claims.extend(
            worked.map(|worked| claim("work over what is lost", "times", row.sample(Some(worked)))),
        );
        claims
    }

    /// Returns how many jobs of a row took less than 14 minutes of the publication.
    fn short_jobs(&self, row: &Row) -> Option<f64> {
        let is_short = |seconds: &&f64| **seconds * self.common.scaling.seconds < 14.0 * 60.0;
        let count = row.jobs_s.iter().filter(is_short).count();
        (!row.jobs_s.is_empty()).then_some(count as f64)
    }

    /// Returns the rate of the NICs of the node with the files, in KB/s of the publication.
    fn load(&self, row: &Row) -> Option<f64> {
        let [wires, _] = row.carried;
        let rate = wires as f64 / row.seconds / self.common.scaling.wires / 1e3;
        (wires > 0).then_some(rate)
    }

    /// Returns the claims of `row`, each with what was measured with the faults that were tried
    /// there.
    fn tried(&self, row: &Row, claims: impl Fn(&Row) -> Vec<Claim>) -> Vec<Claim> {
        self.with_faults(row).fold(claims(row), |all, tried| {
            let pairs = all.into_iter().zip(claims(&tried.row));
            pairs.map(|(claim, with)| claim.with(tried.fault.clone(), with.sample)).collect()
        })
    }
}

/// Returns the time in which the processors of a row worked, divided by all other time of them.
fn work_over_losses(row: &Row) -> Option<f64> {
    let losses = row.losses.as_ref()?;
    Some(losses.work / (losses.whole - losses.work))
}

/// Returns the time of a row divided by that of another one, in percent of it, and by how many
/// percent it is less.
fn beside(row: &Row, other: &Row) -> Vec<Claim> {
    let quotient = row.seconds / other.seconds;
    let sample = |value: f64| row.sample(Some(value)).voided(other.busy.lags());
    let name = format!("{}, {}", row.load, row.name());
    let base = other.name();
    vec![
        Claim::quotient(format!("{}: {} over {base}", row.load, row.topology), sample(quotient)),
        Claim::measured(format!("{name}, of {base}"), "%", sample(quotient * 100.0)),
        Claim::measured(format!("{name}, gain over {base}"), "%", sample((1.0 - quotient) * 100.0)),
    ]
}
