//! Threads that work on a sequence of jobs, with the results in the order of the jobs.

use crate::resource_shortage::ResourceShortage;
use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Maximum number of threads. The caller, which takes the results, is soon the slower part.
const MAX_WORKERS: usize = 8;

/// Number of jobs per thread that are given out ahead of the one whose result is taken next.
const JOBS_AHEAD: usize = 2;

/// Threads that turn jobs into results. They end when this is dropped.
pub struct OrderedWorkers<J, R> {
    jobs: Sender<(J, SyncSender<R>)>,
    /// One receiver per job that was given out, in order.
    results: VecDeque<Receiver<R>>,
    max_jobs: usize,
}

impl<J: Send, R: Send> OrderedWorkers<J, R> {
    /// Starts one thread per processor, or fewer if the machine has no more. `spawn` starts a thread, which may belong to a
    /// scope. `new_worker` makes the function that a thread applies to jobs.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start<'s, W: FnMut(J) -> R + Send + 's>(
        spawn: impl Fn(Box<dyn FnOnce() + Send + 's>) -> Result<(), ResourceShortage>,
        new_worker: impl Fn() -> W,
    ) -> Result<OrderedWorkers<J, R>, ResourceShortage>
    where
        J: 's,
        R: 's,
    {
        let count = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_WORKERS);
        let (jobs, waiting) = channel::<(J, SyncSender<R>)>();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut started = 0;
        while started < count {
            let (waiting, mut work) = (Arc::clone(&waiting), new_worker());
            let spawned = spawn(Box::new(move || {
                while let Ok((job, result)) = next(&waiting) {
                    // If the receiver is gone, the result is not needed.
                    let _ = result.send(work(job));
                }
            }));
            match spawned {
                Ok(()) => started += 1,
                Err(shortage) if started == 0 => return Err(shortage),
                // Fewer threads have the same results.
                Err(_) => break,
            }
        }
        Ok(OrderedWorkers { jobs, results: VecDeque::new(), max_jobs: started * JOBS_AHEAD })
    }

    /// Returns the next result, after giving out jobs until enough are under way. `None` if no jobs are left. If the thread
    /// of the job has panicked, so does this one.
    pub fn next(&mut self, mut next_job: impl FnMut() -> Option<J>) -> Option<R> {
        while self.results.len() < self.max_jobs
            && let Some(job) = next_job()
        {
            let (sender, receiver) = sync_channel(1);
            let _ = self.jobs.send((job, sender));
            self.results.push_back(receiver);
        }
        let result = self.results.pop_front()?.recv();
        // The sender is gone only if the thread panicked, which ends the caller as it would have without threads.
        Some(result.unwrap_or_else(|_| std::panic::resume_unwind(Box::new("a thread panicked"))))
    }
}

fn next<J>(waiting: &Mutex<Receiver<J>>) -> Result<J, std::sync::mpsc::RecvError> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource_shortage::MachineResource;
    use crate::threads::spawn_thread;
    use std::cell::Cell;

    fn spawn(worker: Box<dyn FnOnce() + Send>) -> Result<(), ResourceShortage> {
        spawn_thread("worker", worker).map(drop)
    }

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let mut workers = OrderedWorkers::start(spawn, || |job: u64| job * 2).expect("threads");
        let mut jobs = 0..1_000;
        let results: Vec<u64> = std::iter::from_fn(|| workers.next(|| jobs.next())).collect();
        assert_eq!(results, (0..1_000).map(|job| job * 2).collect::<Vec<_>>());
        assert_eq!(workers.next(|| None), None);
    }

    #[test]
    fn jobs_are_given_out_only_a_little_ahead() {
        let mut workers = OrderedWorkers::start(spawn, || |job: u64| job).expect("threads");
        let max_jobs = workers.max_jobs as u64;
        let mut given = 0;
        for taken in 0..100 {
            assert_eq!(workers.next(|| (given < 1_000).then(|| (given, given += 1).0)), Some(taken));
            assert!(given <= taken + max_jobs, "{given} after {taken}");
        }
    }

    #[test]
    fn one_thread_suffices_and_none_is_an_error() {
        let shortage = || ResourceShortage::new(MachineResource::Threads);
        let left = Cell::new(1);
        let spawn_once = |worker| match left.replace(0) {
            0 => Err(shortage()),
            _ => spawn(worker),
        };
        let mut workers = OrderedWorkers::start(spawn_once, || |job: u64| job + 1).expect("one thread");
        assert_eq!(workers.max_jobs, JOBS_AHEAD);
        let mut jobs = 0..10;
        let results: Vec<u64> = std::iter::from_fn(|| workers.next(|| jobs.next())).collect();
        assert_eq!(results, (1..=10).collect::<Vec<_>>());
        let refused = OrderedWorkers::start(|_| Err(shortage()), || |job: u64| job);
        assert_eq!(refused.err(), Some(shortage()));
    }
}
