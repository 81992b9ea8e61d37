//! CPU affinity of threads.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Pins the calling thread, and the threads that it starts later, to one CPU.
///
/// # Errors When there is no such CPU, or this process is not allowed to use it.
pub fn stay_on(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Returns the numbers of the CPUs that the calling thread may run on.
///
/// # Errors
/// When the kernel does not report them.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_told_and_nowhere_else() {
        let last = *allowed().unwrap().last().unwrap();
        std::thread::spawn(move || {
            stay_on(last).unwrap();
            assert_eq!(allowed().unwrap(), [last]);
            assert!(stay_on(usize::MAX).is_err());
            assert!(stay_on(CpuSet::MAX_CPU - 1).is_err());
        })
        .join()
        .unwrap();
    }
}
