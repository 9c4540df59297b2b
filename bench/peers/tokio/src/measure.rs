//! What the program asks about itself: time, CPU, memory; and the line it prints.

use std::time::Instant;

pub fn workers() -> usize {
    std::env::var("WORKERS").map_or(1, |text| text.parse().expect("WORKERS"))
}

pub fn report(metric: &str, value: f64, unit: &str) {
    println!("tokio{} {metric} {value:.3} {unit}", workers());
}

pub fn nanoseconds_each(start: Instant, count: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / count as f64
}

pub fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / 1e6
}

/// User and system time of every thread of the process so far, from the scheduler's own count.
pub fn cpu_nanoseconds() -> f64 {
    let mut total = 0.0;
    for thread in std::fs::read_dir("/proc/self/task").expect("tasks").flatten() {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        let first = text.split_whitespace().next().unwrap_or("0");
        total += first.parse::<f64>().unwrap_or(0.0);
    }
    total
}

/// One field of /proc/self/status that is given in kB.
fn status_bytes(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find(|line| line.starts_with(field)).expect("field");
    let kilobytes = line.split_whitespace().nth(1).expect("value");
    kilobytes.parse::<f64>().expect("number") * 1024.0
}

/// Page tables count too: they are what a sparse stack costs beside its pages.
pub fn resident_bytes() -> f64 {
    status_bytes("VmRSS:") + status_bytes("VmPTE:")
}

pub fn peak_resident_megabytes() -> f64 {
    status_bytes("VmHWM:") / 1e6
}
