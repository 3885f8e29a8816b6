/**
 * What a blocking read of PostgreSQL costs beside an awaited one: time and processor time (of the whole process, without the
 * server's) for a row by key and for a large result, and reads per second of several callers, each on a thread of its own.
 *
 *   node --conditions=millrace-src test/load/blocking-reads.ts [READS] [ROUNDS]
 */
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { BlockingReader, type ReaderLink, type ReaderThread, startReaderThread } from "#storage/postgres/blocking-reader";
import { Connection, type Settings } from "#storage/postgres/connection";
import { type PostgresServer, postgresPrograms, startPostgres } from "../support/postgres-server.ts";

const LIMIT_MS = 10_000;
const ROWS = 10_000;
const CALLERS = [1, 2, 4];
const BY_KEY = "SELECT id, name, size FROM things WHERE id = $1::int8";
const LARGE = "SELECT id, name, size FROM things ORDER BY id LIMIT 5000";
const LARGE_SHARE = 100;

interface Caller {
  link: ReaderLink;
  reads: number;
}

/** Microseconds, and of processor time, for each of so many reads. */
interface Cost {
  us: number;
  cpuUs: number;
}

async function costOf(reads: number, read: (index: number) => unknown): Promise<Cost> {
  const [cpu, start] = [process.cpuUsage(), performance.now()];
  for (let index = 0; index < reads; index += 1) await read(index);
  const { user, system } = process.cpuUsage(cpu);
  return { us: ((performance.now() - start) * 1000) / reads, cpuUs: (user + system) / reads };
}

const keyOf = (index: number) => [1 + (index % ROWS)];

async function callOnThread({ link, reads }: Caller): Promise<void> {
  if (parentPort === null) throw new Error("not a thread of a measurement");
  const reader = new BlockingReader(link);
  reader.all(BY_KEY, [1]);
  parentPort.postMessage("ready");
  await once(parentPort, "message");
  for (let index = 0; index < reads; index += 1) reader.all(BY_KEY, keyOf(index));
  reader.close();
  parentPort.postMessage("done");
  parentPort.close();
}

async function seconds(callers: number, reads: number, thread: ReaderThread, settings: Settings): Promise<number> {
  const workers = Array.from({ length: callers }, () => {
    const link = thread.connect(settings, { limitMs: LIMIT_MS, patienceMs: 0 });
    const caller: Caller = { link, reads };
    return new Worker(new URL(import.meta.url), { workerData: caller, transferList: [link.port] });
  });
  await Promise.all(workers.map((worker) => once(worker, "message")));
  const ended = workers.map((worker) => once(worker, "message"));
  const start = performance.now();
  for (const worker of workers) worker.postMessage("go");
  await Promise.all(ended);
  return (performance.now() - start) / 1000;
}

const show = (name: string, { us, cpuUs }: Cost) =>
  console.log(`${name.padEnd(24)} ${us.toFixed(0)} us, CPU ${cpuUs.toFixed(0)} us`);

async function measure(server: PostgresServer, reads: number, rounds: number): Promise<void> {
  const settings = await server.database("reads");
  const connection = await Connection.open(settings);
  await connection.run(
    `CREATE TABLE things AS SELECT n AS id, 'thing ' || n AS name, n * 1000 AS size FROM generate_series(1::int8, ${ROWS}) n;
      ALTER TABLE things ADD PRIMARY KEY (id); ANALYZE things`,
  );
  const thread = startReaderThread();
  const reader = new BlockingReader(thread.connect(settings, { limitMs: LIMIT_MS, patienceMs: 0 }));
  for (let round = 0; round <= rounds; round += 1) {
    const awaited = await costOf(reads, (index) => connection.rows(BY_KEY, keyOf(index)));
    const blocking = await costOf(reads, (index) => reader.all(BY_KEY, keyOf(index)));
    const awaitedLarge = await costOf(reads / LARGE_SHARE, () => connection.rows(LARGE, []));
    const blockingLarge = await costOf(reads / LARGE_SHARE, () => reader.all(LARGE));
    // The first round compiles the code.
    if (round === 0) continue;
    show("a row, awaited", awaited);
    show("a row, blocking", blocking);
    show("5,000 rows, awaited", awaitedLarge);
    show("5,000 rows, blocking", blockingLarge);
    for (const callers of CALLERS) {
      const perSecond = (callers * reads) / (await seconds(callers, reads, thread, settings));
      console.log(`${callers} callers`.padEnd(24), `${Math.round(perSecond)} reads/s`);
    }
  }
  reader.close();
  await thread.stop();
  await connection.close();
}

async function main(): Promise<void> {
  const [reads = "5000", rounds = "3"] = process.argv.slice(2);
  const programs = postgresPrograms();
  if (programs === null) throw new Error("needs an installed PostgreSQL");
  const server = await startPostgres(programs);
  try {
    await measure(server, Number(reads), Number(rounds));
  } finally {
    server.stop();
  }
}

if (isMainThread) await main();
else await callOnThread(workerData as Caller);
