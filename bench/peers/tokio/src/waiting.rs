use crate::measure::{
    cpu_nanoseconds, milliseconds, nanoseconds_each, peak_resident_megabytes, report,
    resident_bytes,
};
use crate::spawning::WaitGroup;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The same durations of 1 to 1000 ms in every program of bench/.
struct SleepTimes(u64);

impl SleepTimes {
    fn next(&mut self) -> Duration {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        Duration::from_millis(1 + (self.0 >> 33) % 1000)
    }
}

pub async fn sleep(count: usize) {
    let group = WaitGroup::new(count);
    let mut times = SleepTimes(0);
    let start = Instant::now();
    for _ in 0..count {
        let (group, duration) = (group.clone(), times.next());
        tokio::spawn(async move {
            tokio::time::sleep(duration).await;
            group.done();
        });
    }
    group.wait().await;
    report("sleep", milliseconds(start), "ms");
    report("sleep_cpu", cpu_nanoseconds() / 1e6, "ms");
    report("sleep_rss", peak_resident_megabytes(), "MB");
}

/// A Tokio timer is set by its first poll and cancelled by its drop.
async fn set_and_cancel() {
    let mut timer = pin!(tokio::time::sleep(Duration::from_secs(3600)));
    poll_fn(|context| {
        assert!(timer.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

pub async fn timer(count: usize) {
    let start = Instant::now();
    for _ in 0..count {
        set_and_cancel().await;
    }
    report("timer", nanoseconds_each(start, count), "ns/timer");
}

pub async fn park(count: usize) {
    let never = Arc::new(Notify::new());
    let arrived = Arc::new(AtomicUsize::new(0));
    let before = resident_bytes();
    for _ in 0..count {
        let (never, arrived) = (never.clone(), arrived.clone());
        tokio::spawn(async move {
            arrived.fetch_add(1, Ordering::Relaxed);
            never.notified().await;
        });
    }
    while arrived.load(Ordering::Relaxed) < count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    report("park", (resident_bytes() - before) / count as f64, "B/fiber");
    std::process::exit(0); // the parked tasks are never woken
}
