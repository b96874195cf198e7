//! The clock that measures waits and ages.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

static PLAYED: OnceLock<fn() -> Duration> = OnceLock::new();
static MOMENTS: AtomicU64 = AtomicU64::new(1);

/// Returns the time since the machine started, on a clock that counts the time while it sleeps and never goes back.
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

/// Replaces the machine's clock, once for the whole process. Only a simulation with a time of its own needs that.
/// Returns false if it was done before.
pub fn play_time(clock: fn() -> Duration) -> bool {
    PLAYED.set(clock).is_ok()
}

/// Returns the next number of a counter: earlier calls got lower ones, in any thread.
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

    /// Advances the time on this thread by seconds.
    pub(crate) fn sleep(seconds: u64) {
        sleep_for(Duration::from_secs(seconds));
    }

    /// Advances the time on this thread.
    pub(crate) fn sleep_for(time: Duration) {
        SLEPT.set(SLEPT.get() + time);
    }
}
