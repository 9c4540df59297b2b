// The module weft:http, and what a handler is given; see docs/js/weft-http.md.
declare module "weft:http" {
  import type { DeadlineValue } from "weft:time";

  /** The third argument of a handler. */
  export interface ExecutionContext {
    readonly signal: AbortSignal;
    readonly deadline: DeadlineValue;
    waitUntil(promise: PromiseLike<unknown>): void;
    passThroughOnException(): void;
  }
  export type Environment = Readonly<Record<string, string>>;
  /** The default export of an application: this, or a function like its fetch. */
  export interface Handler<Env = Environment> {
    fetch(request: Request, env: Env, ctx: ExecutionContext): Response | PromiseLike<Response>;
  }

  export interface JsonPolicy {
    bigint?: "string" | "error";
    bytes?: "base64" | "array";
    casing?: "preserve" | "camelCase";
    includeNulls?: boolean;
  }
  export interface ResultOptions {
    status?: number;
    headers?: HeadersInit;
    contentType?: string;
    json?: JsonPolicy;
  }
  export interface CookieOptions {
    path?: string;
    domain?: string;
    maxAge?: number;
    expires?: Date;
    httpOnly?: boolean;
    secure?: boolean;
    sameSite?: string;
  }
  export interface Result extends Response {
    cookie(name: string, value: string, options?: CookieOptions): this;
    cacheControl(value: string): this;
    cacheHeaders(fields: {
      cacheControl?: string; vary?: string; etag?: string; lastModified?: string | Date;
    }): this;
  }
  export interface StreamWriter {
    readonly signal: AbortSignal;
    writeText(text: string): Promise<boolean>;
    writeBytes(bytes: BufferSource): Promise<boolean>;
  }
  type Valued = (value?: unknown, options?: ResultOptions) => Result;
  export const Results: {
    ok: Valued;
    created(location: string | URL, value?: unknown, options?: ResultOptions): Result;
    accepted: Valued;
    noContent(options?: ResultOptions): Result;
    badRequest: Valued;
    unauthorized: Valued;
    forbidden: Valued;
    notFound: Valued;
    conflict: Valued;
    status(code: number, value?: unknown, options?: ResultOptions): Result;
    redirect(location: string | URL, status?: number): Result;
    text(value: string, options?: ResultOptions): Result;
    html(value: string, options?: ResultOptions): Result;
    bytes(value: BufferSource, options?: ResultOptions): Result;
    json: Valued;
    problem(details?: string | Record<string, unknown>, options?: ResultOptions): Result;
    rows(cursor: object, options?: ResultOptions & { format?: "ndjson" | "json" }): Result;
    stream(write: (writer: StreamWriter) => unknown, options?: ResultOptions): Result;
  };

  /** "/users/{id:int}/{rest:*}" has the values id and rest, which are strings. */
  type NamesOf<Pattern extends string> =
    Pattern extends `${string}{${infer Part}}${infer Rest}`
      ? (Part extends `${infer Name}:${string}` ? Name : Part) | NamesOf<Rest>
      : never;
  export type RouteValues<Pattern extends string> =
    string extends Pattern ? Record<string, string> : { readonly [Name in NamesOf<Pattern>]: string };

  export interface RouteContext<Values = Record<string, string>> {
    readonly request: Request;
    readonly env: Environment;
    readonly route: Values;
    readonly state: Record<string, any>;
    readonly path: string;
    readonly query: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
    readonly deadline: DeadlineValue | undefined;
    readonly routeName: string | null;
    readonly routePattern: string | null;
    readonly cookies: { get(name: string): string | null; entries(): Record<string, string> };
    waitUntil(promise: PromiseLike<unknown>): void;
    urlFor(name: string, values?: Record<string, unknown>, query?: Record<string, unknown>): string;
  }
  export type RouteHandler<Values = Record<string, string>> =
    (ctx: RouteContext<Values>) => unknown;
  export type Middleware = (ctx: RouteContext, next: () => Promise<Response>) => unknown;
  export interface Route {
    name(label: string): this;
    deadline(ms: number): this;
  }
  type AddRoute = <Pattern extends string>(
    pattern: Pattern, handler: RouteHandler<RouteValues<Pattern>>) => Route;
  export interface Router extends Handler {
    get: AddRoute;
    head: AddRoute;
    post: AddRoute;
    put: AddRoute;
    patch: AddRoute;
    delete: AddRoute;
    options: AddRoute;
    all: AddRoute;
    sse<Pattern extends string>(
      pattern: Pattern,
      handler: (ctx: RouteContext<RouteValues<Pattern>>, events: EventStream) => unknown,
      options?: object,
    ): Route;
    static(
      path: string, folder: string | URL,
      options?: { index?: string; cacheControl?: string },
    ): this;
    proxy(path: string, upstreams: string | URL | readonly (string | URL)[]): this;
    use(middleware: Middleware): this;
    group(prefix: string, fill?: (group: Router) => void): Router;
    onError(handler: (error: any, ctx: RouteContext) => unknown): this;
    urlFor(name: string, values?: Record<string, unknown>, query?: Record<string, unknown>): string;
    fetch(request: Request, env?: any, ctx?: any): Promise<Response>;
  }
  export function router(): Router;

  export interface ServerEvent {
    event?: string;
    id?: string | number;
    data?: unknown;
    retry?: number;
  }
  export interface EventStream {
    readonly signal: AbortSignal;
    readonly lastEventId: string | null;
    send(event: ServerEvent | string): Promise<boolean>;
    close(): void;
  }
  export function sse(
    request: Request, write: (events: EventStream) => unknown, options?: object): Response;
  export function sse(events: AsyncIterable<unknown>, options?: object): Response;

  export interface FileOptions {
    request?: Request;
    headers?: HeadersInit;
    contentType?: string;
  }
  export function file(where: string | URL, options?: FileOptions): Promise<Response>;
  export function files(
    folder: string | URL, options?: { index?: string; headers?: HeadersInit }): RouteHandler<any>;
  export function upgradeWebSocket(
    request: Request, options?: object): { socket: WebSocket; response: Response };
}
