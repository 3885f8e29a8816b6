/** What Millrace uses of the package pg. */
declare module "pg" {
  export interface QueryResult {
    rows: unknown[][];
  }
  export interface Query {
    name?: string;
    text: string;
    values?: readonly unknown[];
    rowMode: "array";
  }
  export interface Settings {
    host: string;
    port: number;
    user: string;
    database: string;
  }
  export class Client {
    constructor(settings: Settings);
    connect(): Promise<void>;
    query(query: Query): Promise<QueryResult>;
    end(): Promise<void>;
    setTypeParser(oid: number, parse: (text: string) => unknown): void;
  }
}
