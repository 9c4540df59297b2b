// The module weft:test; see docs/js/test.md.
declare module "weft:test" {
  import type { FakeClock } from "weft:time";

  export interface TestContext {
    readonly name: string;
    readonly path: readonly string[];
    readonly signal: AbortSignal;
  }
  export type Options = number | { timeout?: number };
  type Act = (context: TestContext) => unknown;

  interface Each<Options_> {
    <T extends readonly unknown[]>(table: readonly T[]):
      (name: string, act: (...row: [...T]) => unknown, options?: Options_) => void;
    <T>(table: Iterable<T>): (name: string, act: (row: T) => unknown, options?: Options_) => void;
    (names: TemplateStringsArray, ...values: unknown[]):
      (name: string, act: (row: any) => unknown, options?: Options_) => void;
  }
  interface Declare<Act_, Options_> {
    (name: string, act: Act_, options?: Options_): void;
    each: Each<Options_>;
  }
  interface Declarer<Act_, Options_> extends Declare<Act_, Options_> {
    only: Declare<Act_, Options_>;
    skip: Declare<Act_, Options_>;
    todo: { (name: string, act?: Act_): void; each: Each<Options_> };
    skipIf(condition: unknown): Declare<Act_, Options_>;
    runIf(condition: unknown): Declare<Act_, Options_>;
  }
  export const test: Declarer<Act, Options> & {
    failing(name: string, act: Act, options?: Options): void;
  };
  export const it: typeof test;
  export const describe: Declarer<() => void, never>;
  export default test;

  type Hook = (act: () => unknown, options?: Options) => void;
  export const beforeAll: Hook;
  export const afterAll: Hook;
  export const beforeEach: Hook;
  export const afterEach: Hook;

  type Function_ = (...args: any[]) => any;
  export interface MockState<F extends Function_> {
    calls: Parameters<F>[];
    results: { type: "return" | "throw" | "incomplete"; value: any }[];
    contexts: unknown[];
    readonly lastCall: Parameters<F> | undefined;
  }
  export interface Mock<F extends Function_ = Function_> {
    (...args: Parameters<F>): ReturnType<F>;
    new (...args: any[]): any;
    mock: MockState<F>;
    mockImplementation(act: F): this;
    mockImplementationOnce(act: F): this;
    mockReturnValue(value: ReturnType<F>): this;
    mockReturnValueOnce(value: ReturnType<F>): this;
    mockResolvedValue(value: Awaited<ReturnType<F>>): this;
    mockResolvedValueOnce(value: Awaited<ReturnType<F>>): this;
    mockRejectedValue(error: unknown): this;
    mockRejectedValueOnce(error: unknown): this;
    mockClear(): this;
    mockReset(): this;
  }
  export interface Spy<F extends Function_> extends Mock<F> {
    mockRestore(): void;
  }
  export function fn<F extends Function_ = Function_>(act?: F, name?: string): Mock<F>;
  export function spyOn<T extends object, K extends keyof T>(
    object: T, name: K): T[K] extends Function_ ? Spy<T[K]> : never;
  export const mock: { fn: typeof fn; spyOn: typeof spyOn };
  export function fakeClock(options?: { now?: Date | number }): FakeClock;

  type Thrown = string | RegExp | Error | object | (new (...args: any[]) => unknown);
  /** R: void, or a promise after .resolves and .rejects. Extend this for expect.extend(). */
  export interface Matchers<R> {
    toBe(expected: unknown): R;
    toEqual(expected: unknown): R;
    toStrictEqual(expected: unknown): R;
    toMatchObject(expected: object): R;
    toBeTruthy(): R;
    toBeFalsy(): R;
    toBeNull(): R;
    toBeUndefined(): R;
    toBeDefined(): R;
    toBeNullish(): R;
    toBeNaN(): R;
    toBeGreaterThan(expected: number | bigint): R;
    toBeGreaterThanOrEqual(expected: number | bigint): R;
    toBeLessThan(expected: number | bigint): R;
    toBeLessThanOrEqual(expected: number | bigint): R;
    toBeCloseTo(expected: number, digits?: number): R;
    toBeInstanceOf(kind: abstract new (...args: any[]) => unknown): R;
    toBeOneOf(values: Iterable<unknown>): R;
    toBeTypeOf(type: string): R;
    toContain(part: unknown): R;
    toContainEqual(part: unknown): R;
    toHaveLength(length: number): R;
    toHaveProperty(path: string | readonly PropertyKey[], value?: unknown): R;
    toMatch(pattern: string | RegExp): R;
    toSatisfy(ask: (value: any) => unknown): R;
    toThrow(expected?: Thrown): R;
    toThrowError(expected?: Thrown): R;
    toHaveBeenCalled(): R;
    toHaveBeenCalledOnce(): R;
    toHaveBeenCalledTimes(times: number): R;
    toHaveBeenCalledWith(...args: unknown[]): R;
    toHaveBeenLastCalledWith(...args: unknown[]): R;
    toHaveBeenNthCalledWith(nth: number, ...args: unknown[]): R;
    toHaveReturned(): R;
    toHaveReturnedTimes(times: number): R;
    toHaveReturnedWith(value: unknown): R;
    toMatchSnapshot(hint?: string): R;
    toMatchInlineSnapshot(text?: string): R;
  }
  interface Directions<R> extends Matchers<R> {
    not: Matchers<R>;
  }
  export interface Expectation extends Directions<void> {
    resolves: Directions<Promise<void>>;
    rejects: Directions<Promise<void>>;
  }
  interface Asymmetric {
    objectContaining(part: object): any;
    arrayContaining(part: readonly unknown[]): any;
    stringContaining(part: string): any;
    stringMatching(pattern: string | RegExp): any;
    closeTo(number: number, digits?: number): any;
  }
  export interface MatcherState {
    isNot: boolean;
    promise: "" | "resolves" | "rejects";
    equals(a: unknown, b: unknown): boolean;
  }
  export const expect: {
    (value: unknown): Expectation;
    not: Asymmetric;
    any(kind: abstract new (...args: any[]) => unknown): any;
    any(kind: Function_): any;
    anything(): any;
    extend(matchers: Record<string, (this: MatcherState, received: any, ...args: any[]) =>
      { pass: boolean; message: string | (() => string) }>): void;
    assertions(count: number): void;
    hasAssertions(): void;
    fail(message?: string): never;
  } & Asymmetric;
}
