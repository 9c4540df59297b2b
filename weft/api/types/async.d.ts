// The module weft:async; see docs/js/time.md.
declare module "weft:async" {
  import type { CancellationSignal, Clock, Duration, RemainingTime, WaitOptions } from "weft:time";

  /** The argument of a job; it can be passed on wherever options are accepted. */
  export interface Context {
    readonly signal: CancellationSignal;
    readonly deadline: RemainingTime;
    readonly clock: Clock;
    readonly error: AsyncError | undefined;
    remainingMs(): number;
    check(): void;
  }
  export type Job<T = unknown> = (context: Context) => T | PromiseLike<T>;

  export class AsyncError extends Error {
    constructor(kind: string, message: string, options?: ErrorOptions);
    kind: string;
  }

  export class Group {
    constructor(options?: WaitOptions & { collectErrors?: boolean; maxErrors?: number });
    readonly context: Context;
    readonly signal: CancellationSignal;
    go(job: Job): void;
    wait(): Promise<void>;
    errors(): unknown[];
  }

  export class Task<T> {
    constructor(job: Job<T>, options?: WaitOptions);
    static run<T>(job: Job<T>, options?: WaitOptions): Task<T>;
    readonly signal: CancellationSignal;
    cancel(reason?: unknown): void;
    wait(): Promise<T>;
  }

  export class Pool {
    constructor(options: WaitOptions & { workers: number; queueSize: number });
    readonly context: Context;
    readonly signal: CancellationSignal;
    trySubmit(job: Job): void;
    submit(job: Job, options?: WaitOptions): Promise<void>;
    submitFor(timeout: Duration, job: Job): Promise<void>;
    close(): Promise<void>;
    wait(): Promise<void>;
  }

  export interface PeriodicHandle {
    stop(): void;
    wait(): Promise<void>;
  }
  export function every(interval: Duration, job: Job, options?: WaitOptions): Promise<void>;
  export function startEvery(interval: Duration, job: Job, options?: WaitOptions): PeriodicHandle;
  export function withTimeout<T>(
    timeout: Duration, job: Job<T>, options?: WaitOptions): Promise<T>;

  export class AsyncLocalStorage<T> {
    static bind<F extends (...args: never[]) => unknown>(fn: F): F;
    static snapshot(): <R, A extends unknown[]>(fn: (...args: A) => R, ...args: A) => R;
    run<R, A extends unknown[]>(store: T, fn: (...args: A) => R, ...args: A): R;
    exit<R, A extends unknown[]>(fn: (...args: A) => R, ...args: A): R;
    getStore(): T | undefined;
    enterWith(store: T): void;
    disable(): void;
  }
}
