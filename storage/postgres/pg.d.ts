/** What Millrace uses of the packages pg and pgpass. */
declare module "pg" {
  import type { Duplex } from "node:stream";
  export interface QueryResult<Row> {
    rows: Row[];
  }
  export interface Query {
    text: string;
    values?: readonly unknown[];
    rowMode: "array";
  }
  /** Where a database is, and who connects. */
  export type Settings = { connectionString: string } | { host: string; port: number; user: string; database: string };
  export interface ClientOptions {
    application_name?: string | undefined;
    connectionTimeoutMillis: number;
    keepAlive: boolean;
    keepAliveInitialDelayMillis: number;
  }
  export interface ProtocolConnection {
    stream: Duplex;
  }
  /** Takes the place of a query, and speaks the protocol itself. */
  export interface Submittable {
    submit(connection: ProtocolConnection): null;
    handleError(error: Error): void;
    handleReadyForQuery(): void;
    handleRowDescription(): void;
    handleDataRow(): void;
    handleEmptyQuery(): void;
    handlePortalSuspended(): void;
    handleCommandComplete(): void;
  }
  export class Client {
    readonly connection: ProtocolConnection;
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
    /** Null where neither the settings nor PGPASSWORD have one. */
    password: string | null | (() => Promise<string | undefined>);
    constructor(settings: Settings & ClientOptions);
    on(event: "error" | "end", listener: (error?: Error) => void): void;
    connect(): Promise<void>;
    query<Row extends unknown[]>(query: Query): Promise<QueryResult<Row>>;
    query(messages: Submittable): void;
    end(): Promise<void>;
    setTypeParser(oid: number, parse: (text: string) => unknown): void;
  }
}

declare module "pgpass" {
  const find: (
    place: { host: string; port: number; user: string; database: string },
    found: (password: string | undefined) => void,
  ) => void;
  export default find;
}
