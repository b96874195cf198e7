//! Figures of the operating system about the process. `None` if it has none of this form.

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

/// Returns the machine's clock, as Prometheus reads it. It decides nothing.
pub(super) fn seconds_since_1970() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

pub(super) fn cpu_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u32::try_from(time.tv_sec).ok()?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    Some(f64::from(seconds) + f64::from(nanoseconds) / 1e9)
}

pub(super) fn resident_bytes() -> Option<i64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

pub(super) fn open_files() -> Option<i64> {
    let open = fs::read_dir("/proc/self/fd").ok()?.count();
    // One of them is the listing itself.
    i64::try_from(open.saturating_sub(1)).ok()
}
