//! Description of the machine.

use std::fs::read_to_string;

/// Describes the processor, its cores, the memory and the system, as far as the system reports them.
pub(crate) fn described() -> String {
    let field = |path: &str, name: &str| {
        let text = read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "a processor".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
        .map_or_else(String::new, |kilobytes| format!(", {} GiB of memory", kilobytes >> 20));
    let release = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown");
    format!(
        "{processor}, {cores} cores{memory}, {} {}; load average before: {load}",
        std::env::consts::OS,
        release.trim()
    )
}
