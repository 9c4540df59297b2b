use crate::measure::{milliseconds, nanoseconds_each, report, workers};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// Tokio has no wait group; joining 1 M handles in order would add work that the others do not do.
#[derive(Clone)]
pub struct WaitGroup(Arc<(AtomicUsize, Notify)>);

impl WaitGroup {
    pub fn new(count: usize) -> Self {
        WaitGroup(Arc::new((AtomicUsize::new(count), Notify::new())))
    }

    pub fn done(&self) {
        if self.0 .0.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0 .1.notify_one();
        }
    }

    pub async fn wait(&self) {
        self.0 .1.notified().await;
    }
}

pub async fn yield_tasks(count: usize) {
    let tasks = 2 * workers();
    let group = WaitGroup::new(tasks);
    let start = Instant::now();
    for _ in 0..tasks {
        let group = group.clone();
        tokio::spawn(async move {
            for _ in 0..count / tasks {
                tokio::task::yield_now().await;
            }
            group.done();
        });
    }
    group.wait().await;
    report("yield", nanoseconds_each(start, count), "ns/switch");
}

pub async fn spawn(count: usize) {
    let group = WaitGroup::new(count);
    let start = Instant::now();
    for _ in 0..count {
        let group = group.clone();
        tokio::spawn(async move { group.done() });
    }
    group.wait().await;
    report("spawn", nanoseconds_each(start, count), "ns/fiber");
}

pub async fn spawn_join(count: usize) {
    let start = Instant::now();
    for _ in 0..count {
        tokio::spawn(async {}).await.expect("join");
    }
    report("spawnjoin", nanoseconds_each(start, count), "ns/fiber");
}

#[inline(never)]
fn fib(n: u32) -> u32 {
    let n = std::hint::black_box(n);
    if n < 2 {
        n
    } else {
        fib(n - 1) + fib(n - 2)
    }
}

pub async fn fibonacci(count: usize) {
    let group = WaitGroup::new(count);
    let start = Instant::now();
    for _ in 0..count {
        let group = group.clone();
        tokio::spawn(async move {
            fib(20);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            group.done();
        });
    }
    group.wait().await;
    report("fib", nanoseconds_each(start, count), "ns/fiber");
}

/// Recursion needs a box: a task cannot contain itself.
fn skynet_node(first: usize, leaves: usize) -> Pin<Box<dyn Future<Output = usize> + Send>> {
    Box::pin(async move {
        if leaves == 1 {
            return first;
        }
        let share = leaves / 10;
        let start_child = |i| tokio::spawn(skynet_node(first + i * share, share));
        let children: [_; 10] = std::array::from_fn(start_child);
        let mut sum = 0;
        for child in children {
            sum += child.await.expect("join");
        }
        sum
    })
}

pub async fn skynet(leaves: usize) {
    let start = Instant::now();
    let sum = tokio::spawn(skynet_node(0, leaves)).await.expect("join");
    assert_eq!(sum, leaves * (leaves - 1) / 2);
    report("skynet", milliseconds(start), "ms");
}
