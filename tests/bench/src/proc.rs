//! The kernel's figures about a process: its CPU time and its memory.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use cartouche_tests::control_plane::supervise::Supervised;

/// Bytes in the unit of `/proc/<pid>/status`.
const KIB: u64 = 1024;
/// Maximum time until a program appears below its supervisor.
const APPEARS: Duration = Duration::from_secs(10);

/// A running process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pid: u32,
}

/// Resident memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The present value.
    pub(crate) resident: u64,
    /// The maximum since the process began.
    pub(crate) peak: u64,
}

impl Process {
    /// Returns this process.
    pub(crate) fn own() -> Self {
        Self::of(std::process::id())
    }

    pub(crate) fn of(pid: u32) -> Self {
        Self { pid }
    }

    /// Returns the program that a supervisor has started.
    pub(crate) async fn supervised(program: &Supervised) -> Result<Self> {
        let begin = Instant::now();
        let log = program.log().display().to_string();
        loop {
            if let Some(status) = program.ended()? {
                bail!("{} has ended at once ({status})", program.name());
            }
            let supervisor = all()?.find(|process| {
                process
                    .arguments()
                    .windows(2)
                    .any(|two| two == ["--log", &log])
            });
            let child = supervisor
                .and_then(|supervisor| all().ok()?.find(|p| p.parent() == Some(supervisor.pid)));
            match child {
                Some(child) => return Ok(child),
                None if begin.elapsed() > APPEARS => {
                    bail!("{} was not seen among the processes", program.name())
                }
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    /// Returns the program of this name with the folder in its arguments, if there is one.
    pub(crate) fn named(name: &str, folder: &Path) -> Option<Self> {
        let folder = folder.display().to_string();
        all().ok()?.find(|process| {
            let arguments = process.arguments();
            let program = arguments
                .first()
                .map(|path| Path::new(path).ends_with(name));
            program == Some(true) && arguments.iter().any(|argument| argument.contains(&folder))
        })
    }

    /// Returns its id.
    pub(crate) fn pid(self) -> u32 {
        self.pid
    }

    /// Returns the CPU time since it began, in its own code and in the kernel for it.
    pub(crate) fn cpu(self) -> Result<Duration> {
        let stat = self.read("stat")?;
        let ticks: u64 = after_name(&stat)
            .skip(11)
            .take(2)
            .filter_map(|ticks| ticks.parse::<u64>().ok())
            .sum();
        let a_second = rustix::param::clock_ticks_per_second();
        Ok(Duration::from_micros(ticks * 1_000_000 / a_second.max(1)))
    }

    /// Returns its memory.
    pub(crate) fn memory(self) -> Result<Memory> {
        let status = self.read("status")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        Ok(Memory {
            resident: field("VmRSS:").unwrap_or_default() * KIB,
            peak: field("VmHWM:").unwrap_or_default() * KIB,
        })
    }

    fn parent(self) -> Option<u32> {
        let stat = self.read("stat").ok()?;
        after_name(&stat).nth(1)?.parse().ok()
    }

    fn arguments(self) -> Vec<String> {
        let line = self.read("cmdline").unwrap_or_default();
        line.split('\0').map(str::to_owned).collect()
    }

    fn read(self, file: &str) -> Result<String> {
        let path = format!("/proc/{}/{file}", self.pid);
        fs::read_to_string(&path)
            .with_context(|| format!("reading {path}: does the process still run?"))
    }
}

/// Returns the fields of `/proc/<pid>/stat` from the state on; the name before it may contain blanks.
fn after_name(stat: &str) -> impl Iterator<Item = &str> {
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace()
}

fn all() -> io::Result<impl Iterator<Item = Process>> {
    let entries = fs::read_dir("/proc")?;
    Ok(entries.filter_map(|entry| {
        let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
        Some(Process { pid })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_as_time_on_a_cpu() {
        let own = Process::own();
        let before = own.cpu().unwrap();
        let begin = Instant::now();
        let mut sum = 0_u64;
        while begin.elapsed() < Duration::from_millis(200) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(own.cpu().unwrap() > before);
    }

    #[test]
    fn memory_in_use_is_resident_and_below_the_peak() {
        let memory = Process::own().memory().unwrap();
        assert!(memory.resident > 100 * KIB, "{memory:?}");
        assert!(memory.peak >= memory.resident, "{memory:?}");
    }

    #[test]
    fn a_name_with_blanks_and_brackets_hides_no_field() {
        let stat = "42 (a (b) c) S 7 42 42";
        assert_eq!(after_name(stat).collect::<Vec<_>>(), ["S", "7", "42", "42"]);
    }
}
