//! A run's journal: a record a line, appended as things happen. A job's last line counts.

use std::collections::BTreeMap;

use super::Record;

/// What a journal says of each job, by number.
#[derive(Debug, Default)]
pub struct Journal {
    last: BTreeMap<u32, Record>,
}

impl Journal {
    /// Notes one more record, which replaces what was known of its job.
    pub fn note(&mut self, record: Record) {
        self.last.insert(record.job, record);
    }

    /// What became of a job, if anything is known.
    pub fn of(&self, job: u32) -> Option<&Record> {
        self.last.get(&job)
    }

    /// Whether a job is done and need not run again.
    pub fn is_done(&self, job: u32) -> bool {
        self.of(job).is_some_and(|record| record.outcome.is_done())
    }

    /// All records, in the list's order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.last.values()
    }

    /// All records, in the list's order.
    pub fn into_records(self) -> Vec<Record> {
        self.last.into_values().collect()
    }
}
