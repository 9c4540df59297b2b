use crate::measure::{nanoseconds_each, report};
use crate::spawning::WaitGroup;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, Mutex};

pub async fn stream(metric: &str, capacity: usize, count: usize) {
    let (sender, mut receiver) = mpsc::channel::<usize>(capacity);
    let start = Instant::now();
    let receiving = tokio::spawn(async move {
        let mut sum = 0;
        for _ in 0..count {
            sum += receiver.recv().await.expect("item");
        }
        sum
    });
    tokio::spawn(async move {
        for item in 0..count {
            sender.send(item).await.expect("send");
        }
    });
    let sum = receiving.await.expect("join");
    assert_eq!(sum, count * (count - 1) / 2);
    report(metric, nanoseconds_each(start, count), "ns/item");
}

pub async fn ping_pong(metric: &str, capacity: usize, count: usize) {
    let (ping, mut pinged) = mpsc::channel::<usize>(capacity);
    let (pong, mut ponged) = mpsc::channel::<usize>(capacity);
    let start = Instant::now();
    tokio::spawn(async move {
        for _ in 0..count {
            let item = pinged.recv().await.expect("item");
            pong.send(item).await.expect("send");
        }
    });
    let asking = tokio::spawn(async move {
        for item in 0..count {
            ping.send(item).await.expect("send");
            ponged.recv().await.expect("item");
        }
    });
    asking.await.expect("join");
    report(metric, nanoseconds_each(start, count), "ns/rtt");
}

pub async fn many_to_many(count: usize) {
    const PAIRS: usize = 4;
    let (sender, receiver) = async_channel::bounded::<usize>(128);
    let (producers, consumers) = (WaitGroup::new(PAIRS), WaitGroup::new(PAIRS));
    let received = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    for _ in 0..PAIRS {
        let (sender, group) = (sender.clone(), producers.clone());
        tokio::spawn(async move {
            for item in 0..count / PAIRS {
                sender.send(item).await.expect("send");
            }
            group.done();
        });
        let (receiver, group) = (receiver.clone(), consumers.clone());
        let received = received.clone();
        tokio::spawn(async move {
            let mut mine = 0;
            while receiver.recv().await.is_ok() {
                mine += 1;
            }
            received.fetch_add(mine, Ordering::Relaxed);
            group.done();
        });
    }
    producers.wait().await;
    sender.close();
    consumers.wait().await;
    assert_eq!(received.load(Ordering::Relaxed), count);
    report("mpmc", nanoseconds_each(start, count), "ns/item");
}

/// Sets of 100 tasks × 10,000 locks until `count` locks are made.
pub async fn mutex(count: usize) {
    const TASKS: usize = 100;
    const LOCKS: usize = 10_000;
    let value = Arc::new(Mutex::new(0_usize));
    let start = Instant::now();
    for _ in 0..count / (TASKS * LOCKS) {
        let group = WaitGroup::new(TASKS);
        for _ in 0..TASKS {
            let (value, group) = (value.clone(), group.clone());
            tokio::spawn(async move {
                for _ in 0..LOCKS {
                    *value.lock().await += 1;
                }
                group.done();
            });
        }
        group.wait().await;
    }
    assert_eq!(*value.lock().await, count);
    report("mutex", nanoseconds_each(start, count), "ns/lock");
}
