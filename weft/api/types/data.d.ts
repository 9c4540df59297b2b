// The module weft:data; see docs/js/data.md.
declare module "weft:data" {
  import type { WaitOptions } from "weft:time";

  export class DatabaseError extends Error {
    constructor(message: string, options: { code: string; sqlState?: string; transient?: boolean });
    readonly code: string;
    readonly sqlState: string;
    readonly transient: boolean;
  }

  export interface SqlValue {
    readonly type: string;
    toString(): string;
    toJSON(): unknown;
  }
  export interface SqlQuery {
    readonly text: string;
    readonly parameters: readonly unknown[];
    readonly parameterCount: number;
  }
  type Typed = (text: string) => SqlValue;
  export const sql: {
    (strings: TemplateStringsArray, ...values: unknown[]): SqlQuery;
    identifier(name: string): object;
    decimal: Typed;
    uuid: Typed;
    date: Typed;
    time: Typed;
    timestamp: Typed;
    instant: Typed;
    offsetDateTime: Typed;
    json(value: unknown): SqlValue;
    rawJson: Typed;
    bytes(value: BufferSource): SqlValue;
  };
  export function isQuery(value: unknown): value is SqlQuery;
  export function redact(connectionString: string): string;

  export type Row = Record<string, any>;
  export interface Column {
    readonly name: string;
    readonly index: number;
  }
  interface Columns {
    readonly columnNames: readonly string[];
    readonly columns: readonly Column[];
  }
  export type Rows<T = Row> = T[] & Columns & { readonly mode: "object" };
  export interface RawRows extends Columns {
    readonly mode: "raw";
    readonly rows: any[][];
  }
  export interface Executed {
    readonly affectedRows: number;
    readonly lastInsertId?: number | bigint;
  }
  export interface BatchResult extends Executed {
    readonly rows: Rows;
  }
  export type CallOptions = Omit<WaitOptions, "clock">;
  export interface RawOptions extends CallOptions {
    maxRows?: number;
  }
  export interface QueryOptions extends RawOptions {
    mode?: "object" | "raw";
  }
  type ObjectMode = QueryOptions & { mode?: "object" };
  type RawMode = QueryOptions & { mode: "raw" };
  export interface CursorOptions extends RawOptions {
    batchSize?: number;
  }
  export interface BatchOptions extends RawOptions {
    atomic?: boolean;
  }
  export interface TransactionOptions extends CallOptions {
    readOnly?: boolean;
    isolation?: "default" | "readCommitted" | "repeatableRead" | "serializable";
  }
  export interface Cursor<T> extends AsyncIterableIterator<T>, Columns {
    readonly closed: boolean;
    readonly mode: "object" | "raw";
    readonly provider: string;
    close(): Promise<void>;
  }
  /** `await` gives the cursor; `for await` opens it, reads it and closes it. */
  export interface OpeningCursor<T> extends Promise<Cursor<T>>, AsyncIterable<T> {}

  /** A statement made with sql``, or a text with its parameters. */
  interface Statement<Options, R> {
    (statement: SqlQuery, options?: Options): R;
    (statement: string, parameters?: readonly unknown[], options?: Options): R;
  }
  export interface Session {
    readonly provider: string;
    query(statement: SqlQuery, options: RawMode): Promise<RawRows>;
    query(
      statement: string, parameters: readonly unknown[] | undefined, options: RawMode,
    ): Promise<RawRows>;
    query<T = Row>(statement: SqlQuery, options?: ObjectMode): Promise<Rows<T>>;
    query<T = Row>(
      statement: string, parameters?: readonly unknown[], options?: ObjectMode): Promise<Rows<T>>;
    queryRaw: Statement<RawOptions, Promise<RawRows>>;
    queryOne<T = Row>(statement: SqlQuery, options?: CallOptions): Promise<T | null>;
    queryOne<T = Row>(
      statement: string, parameters?: readonly unknown[], options?: CallOptions): Promise<T | null>;
    exec: Statement<CallOptions, Promise<Executed>>;
    batch(
      statements: readonly (SqlQuery | string | readonly [string, (readonly unknown[])?])[],
      options?: BatchOptions,
    ): Promise<BatchResult[]>;
    queryCursor: Statement<CursorOptions, OpeningCursor<Row>>;
    queryRawCursor: Statement<CursorOptions, OpeningCursor<any[]>>;
    stream: Statement<CursorOptions, OpeningCursor<Row>>;
    transaction<T>(
      work: (tx: Transaction) => T | PromiseLike<T>, options?: TransactionOptions): Promise<T>;
  }
  export interface Transaction extends Session {
    /** A savepoint. */
    transaction<T>(
      work: (tx: Transaction) => T | PromiseLike<T>, options?: CallOptions): Promise<T>;
  }
  export interface DatabaseStats {
    readonly provider: string;
    readonly mode: string;
    readonly maxConnections: number;
    readonly connections: number;
    readonly idle: number;
    readonly inUse: number;
    readonly waiting: number;
  }
  export interface Database extends Session {
    /** Null after close(). */
    stats(): DatabaseStats | null;
    close(): Promise<void>;
  }

  type Access = "read" | "write" | "readwrite";
  interface OpenOptions extends CallOptions {
    access?: Access;
    maxConnections?: number;
  }
  export const sqlite: {
    open(options: OpenOptions & ({ path: string } | { database: string })): Promise<Database>;
  };
  interface Server {
    open(options: OpenOptions & { connectionString: string }): Promise<Database>;
  }
  export const postgres: Server;
  export const odbc: Server;
  export function open(token: string, options?: CallOptions): Promise<Database>;
  const all: {
    odbc: Server;
    open: typeof open;
    postgres: Server;
    redact: typeof redact;
    sql: typeof sql;
    sqlite: typeof sqlite;
  };
  export default all;
}
