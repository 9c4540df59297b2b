//! The Tokio peer: `tokio_bench <metric> [count]`, or `tokio_bench echo <port>`. WORKERS is the
//! number of worker threads; one worker uses the current-thread runtime, Tokio's fastest for that.
//! Each workload does the same work as its namesake in bench/weft/. Tasks are stackless, so memory
//! is a different class.
//!
//! Where Tokio has no equal: a channel of capacity 0 is one of capacity 1 (`chan0`, `ping0`), and
//! channels with many receivers come from the `async-channel` crate (`mpmc`).

mod echo;
mod measure;
mod meeting;
mod spawning;
mod waiting;

use tokio::runtime::{Builder, Runtime};

async fn run(metric: &str, count: usize) {
    match metric {
        "yield" => spawning::yield_tasks(count).await,
        "spawn" => spawning::spawn(count).await,
        "spawnjoin" => spawning::spawn_join(count).await,
        "fib" => spawning::fibonacci(count).await,
        "skynet" => spawning::skynet(count).await,
        "chan0" => meeting::stream("chan0", 1, count).await,
        "chan128" => meeting::stream("chan128", 128, count).await,
        "ping0" => meeting::ping_pong("ping0", 1, count).await,
        "ping128" => meeting::ping_pong("ping128", 128, count).await,
        "mpmc" => meeting::many_to_many(count).await,
        "mutex" => meeting::mutex(count).await,
        "sleep" => waiting::sleep(count).await,
        "timer" => waiting::timer(count).await,
        "park" => waiting::park(count).await,
        "echo" => echo::serve(count as u16).await,
        _ => panic!("unknown metric {metric}"),
    }
}

fn build_runtime() -> Runtime {
    let mut builder = match measure::workers() {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.worker_threads(measure::workers()).enable_all();
    builder.build().expect("runtime")
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let metric = arguments.next().expect("usage: tokio_bench <metric> [count]");
    let count = arguments.next().map_or(1_000_000, |text| text.parse().expect("count"));
    let runtime = build_runtime();
    // block_on polls its future on the main thread; the workload belongs on a worker.
    let body = runtime.spawn(async move { run(&metric, count).await });
    runtime.block_on(body).expect("workload");
    runtime.shutdown_background();
}
