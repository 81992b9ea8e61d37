//! Puts load on the target's CPUs, to measure the effect of other work on the node.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_sys::{pinning, threads};

/// Threads that keep CPUs busy: one for each CPU that the starting thread may use.
pub struct Burner {
    over: Arc<AtomicBool>,
}

impl Burner {
    /// Starts the threads.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start() -> io::Result<Self> {
        let burner = Self { over: Arc::new(AtomicBool::new(false)) };
        let cpus = pinning::allowed().map_or(1, |cpus| cpus.len());
        for _ in 0..cpus {
            let over = Arc::clone(&burner.over);
            threads::spawn("burner", move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })?;
        }
        Ok(burner)
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
