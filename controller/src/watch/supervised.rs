//! Supervision of watches: one that ends or panics is begun anew.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::time::{Instant, sleep};

use crate::{backoff::TASKS, metrics::Metrics};

/// Runs a task for ever: whenever it has ended or panicked, that is logged and counted, `on_end` is called, and the
/// task is begun anew after a pause.
pub async fn supervised<Task: Future<Output = ()>>(
    what: String,
    metrics: Metrics,
    run: impl Fn() -> Task,
    on_end: impl Fn(),
) {
    let mut failures = 0;
    loop {
        let begun = Instant::now();
        // State that a panic leaves behind is guarded by locks that ignore poisoning, or begins anew with the task.
        let outcome = AssertUnwindSafe(async { run().await }).catch_unwind().await;
        let panicked = outcome.is_err();
        tracing::error!(what, panicked, "a task has ended and is restarted");
        metrics.task_restarted();
        on_end();
        if begun.elapsed() > TASKS.longest {
            failures = 0;
        }
        sleep(TASKS.delay(failures)).await;
        failures = failures.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, time::Duration};

    use tokio::time::timeout;

    use super::supervised;
    use crate::metrics::Metrics;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_or_ends_is_begun_anew_and_that_is_told() {
        let (runs, on_end) = (Cell::new(0), Cell::new(0));
        let metrics = Metrics::default();
        let run = || {
            runs.set(runs.get() + 1);
            let which = runs.get();
            async move {
                assert_ne!(which, 1, "the first is to fail");
                if which > 2 {
                    std::future::pending::<()>().await;
                }
            }
        };
        let told_once_more = || on_end.set(on_end.get() + 1);
        let task = supervised("test".to_owned(), metrics.clone(), run, told_once_more);
        let ended = timeout(Duration::from_mins(5), task).await;
        assert!(ended.is_err());
        assert_eq!((runs.get(), on_end.get()), (3, 2));
        assert!(metrics.text().contains("cartouche_task_restarts_total 2"));
    }
}
