//! The journal of a run: one record per line, appended as jobs end. The last record of a job
//! counts.

use std::collections::BTreeMap;

use super::Record;

/// The last record of each job, by job number.
#[derive(Debug, Default)]
pub struct Journal {
    last: BTreeMap<u32, Record>,
}

impl Journal {
    /// Adds a record, which replaces an earlier record of the same job.
    pub fn note(&mut self, record: Record) {
        self.last.insert(record.job, record);
    }

    /// Returns the last record of the job with the number `job`, if there is one.
    pub fn of(&self, job: u32) -> Option<&Record> {
        self.last.get(&job)
    }

    /// Returns whether a job is done, so that it need not run again.
    pub fn is_done(&self, job: u32) -> bool {
        self.of(job).is_some_and(|record| record.outcome.is_done())
    }

    /// Iterates over the last record of each job, in ascending order of job numbers.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.last.values()
    }

    /// Returns the last record of each job, in ascending order of job numbers.
    pub fn into_records(self) -> Vec<Record> {
        self.last.into_values().collect()
    }
}
