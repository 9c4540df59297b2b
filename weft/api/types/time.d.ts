// The module weft:time; see docs/js/time.md.
declare module "weft:time" {
  /** Milliseconds, or a string: "500ms", "5s", "2.5m", "1h". */
  export type Duration = number | `${number}${"ms" | "s" | "m" | "h"}`;

  export interface RemainingTime {
    remainingMs(): number;
  }
  export interface DeadlineValue extends RemainingTime {
    readonly expired: boolean;
  }
  export interface Clock {
    readonly kind: "system" | "fake";
    now(): Date;
    monotonicNowMs(): number;
    delay(duration: Duration, options?: WaitOptions): Promise<void>;
  }
  export interface FakeClock extends Clock {
    readonly kind: "fake";
    set(instant: Date | number): void;
    advanceBy(duration: Duration): void;
    advanceByAsync(duration: Duration): Promise<void>;
    dispose(): void;
  }
  /** Whichever fires first ends the wait. */
  export interface WaitOptions {
    signal?: AbortSignal | undefined;
    deadline?: RemainingTime | undefined;
    timeoutMs?: Duration;
    clock?: Clock;
  }

  export class CancellationSignal extends AbortSignal {
    readonly cancelled: boolean;
    throwIfCancelled(): void;
  }
  export class CancellationController {
    readonly signal: CancellationSignal;
    cancel(reason?: unknown): void;
    dispose(): void;
    static linked(...signals: (AbortSignal | undefined)[]): CancellationController;
    static timeout(duration: Duration, options?: { clock?: Clock }): CancellationController;
  }
  export { CancellationController as WorkerCancellationController };
  export { CancellationSignal as WorkerCancellationSignal };

  export class TimeoutError extends Error {}
  export class CancelledError extends Error {
    reason?: unknown;
  }
  export class InvalidDeadlineError extends Error {}
  export class TimerDisposedError extends Error {}

  export const Deadline: {
    after(duration: Duration, options?: { clock?: Clock }): DeadlineValue;
    at(instant: Date | number, options?: { clock?: Clock }): DeadlineValue;
    never(): DeadlineValue;
  };

  export interface TimeoutOptions extends WaitOptions {
    afterMs?: Duration;
  }
  export interface Tick {
    readonly index: number;
    readonly at: Date;
    readonly scheduledAt: Date;
  }
  export interface IntervalOptions extends WaitOptions {
    immediate?: boolean;
    maxTicks?: number;
  }
  export interface JobRun {
    readonly signal: CancellationSignal;
    readonly scheduledAt: Date;
    readonly startedAt: Date;
    readonly run: number;
    readonly skippedRuns: number;
  }
  export interface EveryOptions extends WaitOptions {
    immediate?: boolean;
    noOverlap?: boolean;
    missedRunPolicy?: "skip";
    maxRuns?: number;
  }
  export interface ScheduledJob {
    readonly running: boolean;
    readonly stopped: boolean;
    readonly skippedRuns: number;
    readonly lastError: unknown;
    readonly nextRun: Date | undefined;
    pause(): void;
    resume(): void;
    stop(reason?: unknown): Promise<void>;
  }

  export function delay(duration: Duration, options?: WaitOptions): Promise<void>;
  export function timeout<T>(
    operation: PromiseLike<T> |
      ((context: { signal: CancellationSignal; deadline: RemainingTime }) => T | PromiseLike<T>),
    options: TimeoutOptions,
  ): Promise<T>;
  export function interval(
    duration: Duration, options?: IntervalOptions): AsyncIterableIterator<Tick>;
  export function every(
    duration: Duration, job: (run: JobRun) => unknown, options?: EveryOptions): ScheduledJob;
  export function systemClock(): Clock;
  export function fakeClock(options?: { now?: Date | number }): FakeClock;

  export const Time: {
    delay: typeof delay;
    timeout: typeof timeout;
    interval: typeof interval;
    every: typeof every;
    yield(options?: WaitOptions): Promise<void>;
    systemClock: typeof systemClock;
    fakeClock: typeof fakeClock;
  };
  export default Time;
}
