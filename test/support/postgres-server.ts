/** A private PostgreSQL server for tests and measurements: its own folder, a Unix socket in it, no network. */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Connection } from "#storage/postgres/connection";

const INSTALLED = "/usr/lib/postgresql";
const PORT = 5432;

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

export interface PostgresServer {
  /** Of the first process of the server, whose children are its other processes. */
  pid: number;
  /** Makes an empty database. */
  database(name: string): Promise<TestDatabase>;
  /** Ends all processes of the server at once, as the end of its host does; `start` recovers its databases. */
  crash(): void;
  start(): void;
  stop(): void;
}

/** @param settings lines of postgresql.conf */
export async function startPostgres(programs: string, settings: readonly string[] = []): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-postgres-"));
  const data = join(folder, "data");
  // The server refuses to run as root.
  const asOwner = process.getuid?.() === 0 ? ["runuser", "-u", "postgres", "--"] : [];
  if (asOwner.length > 0) run(["chown", "postgres", folder]);
  run([
    ...asOwner,
    join(programs, "initdb"),
    "--no-sync",
    "-E",
    "UTF8",
    "--locale=C",
    "-A",
    "trust",
    "-U",
    "postgres",
    "-D",
    data,
  ]);
  const lines = ["listen_addresses = ''", `unix_socket_directories = '${folder}'`, `port = ${PORT}`, ...settings];
  appendFileSync(join(data, "postgresql.conf"), `${lines.join("\n")}\n`);
  const control = [...asOwner, join(programs, "pg_ctl"), "-w", "-D", data];
  const start = () => run([...control, "-l", join(folder, "log"), "start"]);
  start();
  const settingsOf = (database: string): TestDatabase => ({ host: folder, port: PORT, user: "postgres", database });
  return {
    pid: Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]),
    database: async (name) => {
      const connection = await Connection.open(settingsOf("postgres"));
      await connection.run(`CREATE DATABASE ${name}`);
      await connection.close();
      return settingsOf(name);
    },
    crash: () => run([...control, "-m", "immediate", "stop"]),
    start,
    stop: () => {
      run([...control, "-m", "fast", "stop"]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function run([program = "", ...args]: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program, args, {
    cwd: tmpdir(),
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
}
