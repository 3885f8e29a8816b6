/** A private PostgreSQL server for tests and measurements: its own folder, a Unix socket in it, no network. */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Connection } from "#storage/postgres/connection";

const INSTALLED = "/usr/lib/postgresql";
const PORT = 5432;
const USER = "postgres";
/** In a folder that the PATH of root may lack, after `su` for example. */
const RUNUSER = "/usr/sbin/runuser";
/** The server refuses to run as root. */
const AS_OWNER = process.getuid?.() === 0 ? [existsSync(RUNUSER) ? RUNUSER : "runuser", "-u", USER, "--"] : [];

/** The folder of the server's programs; null when PostgreSQL is not installed. */
export function postgresPrograms(): string | null {
  const { MILLRACE_TEST_PG_BIN: given } = process.env;
  if (given !== undefined) return given;
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(INSTALLED, version, "bin")).find((path) => existsSync(join(path, "initdb"))) ?? null;
}

/** A database of a test's server, reached by its Unix socket. */
export interface TestDatabase {
  host: string;
  port: number;
  user: string;
  database: string;
}

export function urlOf({ host, port, user, database }: TestDatabase): string {
  return `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

/** @param settings lines of postgresql.conf */
export async function startPostgres(programs: string, settings: readonly string[] = []): Promise<PostgresServer> {
  const folder = makeFolder();
  const initdb = ["--no-sync", "-E", "UTF8", "--locale=C", "-A", "trust", "-U", USER, "-D", join(folder, "data")];
  run([...AS_OWNER, join(programs, "initdb"), ...initdb]);
  return PostgresServer.start(programs, folder, settings);
}

export class PostgresServer {
  /** Holds the socket, so its path is the host in URLs. */
  readonly folder: string;
  readonly #programs: string;
  readonly #data: string;

  private constructor(programs: string, folder: string) {
    this.#programs = programs;
    this.folder = folder;
    this.#data = join(folder, "data");
  }

  /** Starts the server whose data are in the folder. */
  static start(programs: string, folder: string, settings: readonly string[]): PostgresServer {
    const server = new PostgresServer(programs, folder);
    const lines = ["listen_addresses = ''", `unix_socket_directories = '${folder}'`, `port = ${PORT}`, ...settings];
    appendFileSync(join(folder, "data", "postgresql.conf"), `${lines.join("\n")}\n`);
    server.start();
    return server;
  }

  /** Of the first process of the server, whose children are its other processes. */
  get pid(): number {
    return Number(readFileSync(join(this.#data, "postmaster.pid"), "utf8").split("\n")[0]);
  }

  /** Makes an empty database. */
  async database(name: string): Promise<TestDatabase> {
    await this.rows(`CREATE DATABASE ${name}`);
    return { host: this.folder, port: PORT, user: USER, database: name };
  }

  /** The rows that one statement returns. */
  async rows(sql: string): Promise<unknown[][]> {
    const connection = await Connection.open({ host: this.folder, port: PORT, user: USER, database: USER });
    const rows = await connection.rows(sql);
    await connection.close();
    return rows;
  }

  /** A second server that follows this one. */
  standby(): PostgresServer {
    const folder = makeFolder();
    const backup = ["-h", this.folder, "-p", String(PORT), "-U", USER, "-D", join(folder, "data"), "-R", "-c", "fast"];
    run([...AS_OWNER, join(this.#programs, "pg_basebackup"), ...backup]);
    return PostgresServer.start(this.#programs, folder, []);
  }

  /** Makes a standby a server of its own, which takes writes when this returns. */
  promote(): void {
    this.#control("promote");
  }

  /** Ends all processes of the server at once, as the end of its host does; `start` recovers its databases. */
  crash(): void {
    this.#control("-m", "immediate", "stop");
  }

  start(): void {
    this.#control("-l", join(this.folder, "log"), "start");
  }

  stop(): void {
    this.#control("-m", "fast", "stop");
    this.remove();
  }

  /** Deletes the data of a server that was ended. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #control(...args: string[]): void {
    run([...AS_OWNER, join(this.#programs, "pg_ctl"), "-w", "-D", this.#data, ...args]);
  }
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-postgres-"));
  if (AS_OWNER.length > 0) run(["chown", USER, folder]);
  return folder;
}

function run([program = "", ...args]: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program, args, {
    cwd: tmpdir(),
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
}
