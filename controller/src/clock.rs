//! The clock that waits and ages are measured by.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

static PLAYED: OnceLock<fn() -> Duration> = OnceLock::new();
static MOMENTS: AtomicU64 = AtomicU64::new(1);

/// The time since the machine started, on a clock that counts the time while it sleeps and never
/// goes back.
#[must_use]
pub fn boot_time() -> Duration {
    let time = match PLAYED.get() {
        Some(played) => played(),
        None => real_boot_time(),
    };
    #[cfg(test)]
    let time = time + asleep::SLEPT.get();
    time
}

/// Puts another clock in place of the machine's, once for the whole process. A simulation whose time
/// is its own needs that; nothing else does. `false` if that was done before.
pub fn play_time(clock: fn() -> Duration) -> bool {
    PLAYED.set(clock).is_ok()
}

/// Counts up: what was taken earlier is less, in whichever thread.
#[must_use]
pub fn moment() -> u64 {
    MOMENTS.fetch_add(1, Ordering::SeqCst)
}

fn real_boot_time() -> Duration {
    let time = rustix::time::clock_gettime(BOOT_CLOCK);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

#[cfg(target_os = "linux")]
const BOOT_CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
/// Elsewhere the monotonic clock counts sleep already.
#[cfg(not(target_os = "linux"))]
const BOOT_CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

/// Lets the process of one test sleep.
#[cfg(test)]
pub(crate) mod asleep {
    use std::{cell::Cell, time::Duration};

    thread_local! {
        pub(super) static SLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// So many seconds go by on this thread.
    pub(crate) fn sleep(seconds: u64) {
        sleep_for(Duration::from_secs(seconds));
    }

    /// So much time goes by on this thread.
    pub(crate) fn sleep_for(time: Duration) {
        SLEPT.set(SLEPT.get() + time);
    }
}
