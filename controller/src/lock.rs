//! Locks that take no harm from a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks something. What a panic left behind is as good as anything, since all that this process keeps may
/// be lost.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
