//! Runs the measurements of a test in sequence. Drops the page cache before each one, so that the
//! disk itself is measured.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_analysis::is_flat;
use garland_core::printable;
use garland_dataplane::store::TestFile;
use garland_protocol::measure::{
    DiskDirection, DiskEvent, DiskFigures, DiskJob, DiskMode, DiskOrder, DiskPattern, DiskPlace,
    DiskTimes,
};
use garland_sys::cache;
use garland_sys::clock;
use garland_sys::confine::Root;

use super::drive::{Drive, Moved};
use super::place;
use super::walk::Walk;
use crate::error::{OrderError, cannot};

/// Bytes of a sequential operation.
const LONG: u32 = 1 << 20;

/// Bytes of a random operation.
const SHORT: u32 = 4 << 10;

/// Sequential direct operations in flight: enough that the disk is never idle.
const STREAM_DEPTH: u16 = 8;

use DiskDirection::{Read, Write};
use DiskMode::{Buffered, Direct, Stable};
use DiskPattern::{Random, Sequential};

/// A running test.
struct Test<'a> {
    order: &'a DiskOrder,
    file: TestFile,
    place: DiskPlace,
    stop: &'a AtomicBool,
    tell: &'a dyn Fn(DiskEvent),
    /// The number of bytes that were written, from the start of the file. Only these are read.
    extent: u64,
    /// The number of measurements so far. It seeds random walks, so that each walk visits the
    /// blocks in a different order.
    walks: u64,
}

/// Tests the disk as `order` requests, and passes each result to `tell`.
///
/// # Errors
/// When the order is invalid, the file cannot be created, or a measurement fails. Results already
/// passed to `tell` remain valid.
pub fn run(
    root: &Root,
    order: &DiskOrder,
    stop: &AtomicBool,
    tell: &dyn Fn(DiskEvent),
) -> Result<(), OrderError> {
    order.check()?;
    let size = order.size / u64::from(LONG) * u64::from(LONG);
    let file = TestFile::create(root, &order.path, size).map_err(|error| error.to_string())?;
    let place = place::of(&file);
    place::refuse_memory(&place, size)?;
    tell(DiskEvent::Begun(Box::new(place.clone())));
    Test { order, file, place, stop, tell, extent: size, walks: 0 }.all()
}

impl Test<'_> {
    fn all(mut self) -> Result<(), OrderError> {
        let direct = self.place.no_direct.is_empty();
        // Reads need written blocks: writing is always measured.
        let first = self.take(job(Write, Sequential, Buffered, 1))?;
        self.extent = first.bytes;
        self.measure(Read, Sequential, Buffered, 1)?;
        if direct {
            self.measure(Write, Sequential, Direct, STREAM_DEPTH.min(self.order.depth))?;
            self.measure(Read, Sequential, Direct, STREAM_DEPTH.min(self.order.depth))?;
            self.sweep(Read)?;
            self.sweep(Write)?;
        }
        self.measure(Read, Random, Buffered, 1)?;
        self.measure(Write, Random, Stable, 1)?;
        Ok(())
    }

    /// Measures random direct operations with 1, 2, 4, ... in flight, up to the depth that the
    /// order allows, until a higher number does not raise the rate.
    fn sweep(&mut self, direction: DiskDirection) -> Result<(), OrderError> {
        let mut rates = Vec::new();
        let mut depth = 1;
        while depth <= self.order.depth && !is_flat(&rates) && !self.is_stopped() {
            let Some(figures) = self.measure(direction, Random, Direct, depth)? else { break };
            rates.push(figures.operations as f64 / figures.elapsed_ns.max(1) as f64);
            depth *= 2;
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs a measurement and returns its result, or returns `None` if the order does not request
    /// it.
    fn measure(
        &mut self,
        direction: DiskDirection,
        pattern: DiskPattern,
        mode: DiskMode,
        depth: u16,
    ) -> Result<Option<DiskFigures>, OrderError> {
        let next = job(direction, pattern, mode, depth);
        if self.order.only.has(&next) { self.take(next).map(Some) } else { Ok(None) }
    }

    /// Runs a measurement, and reports its result.
    fn take(&mut self, job: DiskJob) -> Result<DiskFigures, OrderError> {
        if self.is_stopped() {
            return Err("the head is gone".into());
        }
        self.walks += 1;
        let figures = self.figures(job).map_err(|error| {
            let verb = if job.direction == Read { "read from" } else { "write to" };
            let path = printable::name(&self.order.path);
            cannot(format!("{verb} the test file in {path}"))(error)
        })?;
        (self.tell)(DiskEvent::Measured(Box::new(figures)));
        Ok(figures)
    }

    fn figures(&self, job: DiskJob) -> io::Result<DiskFigures> {
        let file = self.file.file();
        // Flush and drop the page cache, so that earlier measurements have no effect.
        file.sync_all()?;
        cache::forget(file)?;
        let before = place::cached(file, self.extent);
        self.file.set_direct(job.mode == Direct)?;
        let moved = self.moved(job);
        self.file.set_direct(false)?;
        let moved = moved?;
        let begin = clock::now_ns();
        if job.mode == Buffered && job.direction == Write {
            file.sync_all()?;
        }
        let sync_ns = clock::now_ns() - begin;
        let after = place::cached(file, self.extent);
        let times = &moved.times;
        Ok(DiskFigures {
            job,
            bytes: times.count() * u64::from(job.block),
            operations: times.count(),
            elapsed_ns: moved.elapsed_ns + sync_ns,
            sync_ns,
            times: DiskTimes {
                min: times.min(),
                p50: times.percentile(0.5),
                p99: times.percentile(0.99),
                p999: times.percentile(0.999),
                max: times.max(),
            },
            busy_ns: times.mean().saturating_mul(times.count()),
            before,
            after,
        })
    }

    fn moved(&self, job: DiskJob) -> io::Result<Moved> {
        let drive = Drive {
            file: self.file.file(),
            job,
            walk: Walk::new(job.pattern, job.block, self.extent, self.walks),
            time_ns: self.order.time_ns,
            stop: self.stop,
        };
        match job.mode {
            Direct if self.place.no_uring.is_empty() => drive.by_ring(),
            Direct => drive.by_threads(),
            Buffered | Stable => drive.by_calls(),
        }
    }
}

fn job(direction: DiskDirection, pattern: DiskPattern, mode: DiskMode, depth: u16) -> DiskJob {
    let block = if pattern == Sequential { LONG } else { SHORT };
    DiskJob { direction, pattern, mode, depth, block }
}
