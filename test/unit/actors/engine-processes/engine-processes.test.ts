/** Real processes: start, watch, signal. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, watch, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { matchesPattern } from "#actors/engine-processes/command-pattern";
import { EngineProcesses } from "#actors/engine-processes/engine-processes";
import { fatalReportOptions, processEnd } from "#actors/engine-processes/process-end";
import { isSameProcess, readProcess, userOf } from "#actors/engine-processes/process-table";
import { Outbox } from "#runtime/effect";
import { testFolder } from "../../../support/test-folder.ts";

const WAIT = "setInterval(() => undefined, 1000)";
/** Processes that connect to the given port and send a pid: their own, or that of a child that lives as long as they do. */
const ENGINE_ITSELF = `require("net").connect(Number(process.argv[1]), "127.0.0.1").write(String(process.pid)); ${WAIT}`;
const ENGINE_OF_PARENT = `const child = require("child_process").spawn("sleep", ["300"]); child.on("exit", () => process.exit());
  require("net").connect(Number(process.argv[1]), "127.0.0.1").write(String(child.pid)); ${WAIT}`;

function setup(script = WAIT, reportFolder = tmpdir(), ...nodeOptions: string[]) {
  const told: Record<string, unknown>[] = [];
  const waiting: { kind: string; resolve: (message: Record<string, unknown>) => void }[] = [];
  const hear = (_to: string, message: unknown) => {
    const news = message as Record<string, unknown>;
    told.push(news);
    for (const entry of waiting.filter(({ kind }) => kind === news["kind"])) {
      waiting.splice(waiting.indexOf(entry), 1);
      entry.resolve(news);
    }
  };
  const options = {
    command: [process.execPath, ...fatalReportOptions(reportFolder), ...nodeOptions, "-e", script, "--"],
    commands: [],
    environment: { FROM_SERVER: "yes" },
    reportFolder,
    staying: (runs: number) => hear("", { kind: "staying", runs }),
    complain: (text: string) => hear("", { kind: "complaint", text }),
  };
  const processes = new EngineProcesses(options, () => 0, hear);
  const ask = (message: Parameters<EngineProcesses["receive"]>[0]) => {
    const out = new Outbox();
    processes.receive(message, out);
    for (const effect of out.effects) if (effect.kind === "Send") hear(effect.to, effect.message);
    return out.effects;
  };
  const next = (kind: string) => new Promise<Record<string, unknown>>((resolve) => waiting.push({ kind, resolve }));
  return { ask, next, told, stop: (failed: boolean) => processes.stop(failed) };
}

const key = (source_dir: string, more = {}) => ({ source_dir, module: "jobs.ts", isolated: false, nice: 0, ...more });

/** A process that the server did not start; arguments after its script have no effect. */
async function stranger(t: { teardown(fn: () => void): void }, ...args: string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", WAIT, "--", ...args], { stdio: "ignore" });
  t.teardown(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  return child;
}

t.test("an engine is started with its key, and its end is reported", async (t) => {
  const dir = testFolder(t, { "jobs.ts": "" });
  const script = `require("fs").writeFileSync("${dir}/said", JSON.stringify([process.argv.slice(1), process.env.FROM_SERVER, process.env.MILLRACE_ENGINE_ID]))`;
  const { ask, next } = setup(script);
  const gone = next("EngineGone");
  ask({ kind: "Spawn", engine_id: "engine-1-1", key: key(dir, { isolated: true, nice: 3 }) });
  t.match(await gone, { engine_id: "engine-1-1", cause: "engine process exited with code 0" });
  const [args, environment, id] = JSON.parse((await import("node:fs")).readFileSync(join(dir, "said"), "utf8"));
  t.same(args, ["--engine-id", "engine-1-1", "--source-dir", dir, "--module", "jobs.ts", "--once", "--nice", "3"]);
  t.same([environment, id], ["yes", "engine-1-1"]);
});

t.test("the stop of a server ends the engines that have not asked for work, and no others", async (t) => {
  const folder = testFolder(t, {});
  // Each engine writes its pid once it runs.
  const { ask, next, stop, told } = setup(
    `require("fs").writeFileSync("${folder}/" + process.env.MILLRACE_ENGINE_ID, String(process.pid)); ${WAIT}`,
  );
  const pidOf = async (engine_id: string) => {
    const path = join(folder, engine_id);
    const written = new Promise<void>((resolve) => {
      const watcher = watch(folder, () => {
        if (!existsSync(path) || readFileSync(path, "utf8") === "") return;
        watcher.close();
        resolve();
      });
    });
    ask({ kind: "Spawn", engine_id, key: key(folder) });
    await written;
    return Number(readFileSync(path, "utf8"));
  };
  const [busy, starting] = [await pidOf("busy"), await pidOf("starting")];
  t.teardown(() => process.kill(busy, "SIGKILL"));
  ask({ kind: "Watch", engine_id: "busy", pid_started: null, source_dir: folder, module: "jobs.ts", pid: busy });
  await stop(true);
  t.ok(readProcess(starting).started, "a crash of the actor ends none");
  const gone = next("EngineGone");
  await stop(false);
  t.match(await gone, { engine_id: "starting" });
  t.notOk(isSameProcess(starting, null), "it has ended when the stop resolves");
  t.ok(readProcess(busy).started);
  t.same(told.filter(({ kind }) => kind === "EngineGone").length, 1);
});

t.test("the end of an engine is told with its exit code, its signal, or why its Node gave up", async (t) => {
  const FULL_HEAP = "let all = [1]; for (;;) all = all.concat(all)";
  for (const [script, cause, details, ...nodeOptions] of [
    ["process.exit(7)", "engine process exited with code 7", { exit_code: 7 }],
    ["process.kill(process.pid, 'SIGSEGV')", "engine process was ended by SIGSEGV: native code failed", { signal: "SIGSEGV" }],
    ["process.kill(process.pid, 'SIGKILL')", /^engine process was killed from outside \(SIGKILL\)/, { signal: "SIGKILL" }],
    [FULL_HEAP, /gave up: .*heap out of memory$/, { signal: "SIGABRT", out_of_memory: true }, "--max-old-space-size=20"],
  ] as const) {
    const folder = testFolder(t, {});
    const { ask, next } = setup(script, folder, ...nodeOptions);
    const gone = next("EngineGone");
    ask({ kind: "Spawn", engine_id: "engine-1-1", key: key(folder) });
    t.match(await gone, { cause, details }, script);
    t.same(readdirSync(folder), [], "no report is left");
  }
});

t.test("a process that is no child of the server and gave up is told with its reason", async (t) => {
  const folder = testFolder(t, {});
  const { ask, next } = setup(WAIT, folder);
  const script = "setTimeout(() => { let all = [1]; for (;;) all = all.concat(all) }, 200)";
  const args = [...fatalReportOptions(folder), "--max-old-space-size=20", "-e", script];
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  ask({ kind: "Watch", engine_id: "far", pid_started: null, source_dir: "/s", module: "m.ts", pid: child.pid ?? 0 });
  const gone = next("EngineGone");
  await once(child, "exit");
  ask({ kind: "Look" });
  t.match(await gone, { engine_id: "far", cause: /heap out of memory$/, details: { out_of_memory: true } });
});

t.test("a kill by the system for memory is told from other kills, also behind a shell", async (t) => {
  const end = (code: number | null, signal: NodeJS.Signals | null, memoryKill: boolean | null) =>
    processEnd(code, signal, { memoryKill, fatalError: null });
  t.same(end(null, "SIGKILL", true), {
    cause: "engine process was killed by the system: out of memory",
    details: { signal: "SIGKILL", out_of_memory: true },
  });
  t.match(end(137, null, true), { cause: /out of memory$/, details: { exit_code: 137, signal: "SIGKILL" } });
  t.match(end(null, "SIGKILL", false).cause, /from outside \(SIGKILL\)$/);
  t.match(end(null, "SIGKILL", null).cause, /the system does so when memory runs out$/);
  t.equal(end(null, "SIGTERM", true).cause, "engine process was ended by SIGTERM");
});

t.test("a program that is not there is told as the cause", async (t) => {
  const told: unknown[] = [];
  const gone = new Promise<unknown>((resolve) => {
    const silent = { staying: () => undefined, complain: () => undefined };
    const options = { command: ["/no/such/program"], commands: [], environment: {}, reportFolder: null, ...silent };
    const processes = new EngineProcesses(
      options,
      () => 0,
      (_to, message) => resolve(message),
    );
    processes.receive({ kind: "Spawn", engine_id: "e", key: key(t.testdirName) }, new Outbox());
  });
  told.push(await gone);
  t.match(told, [{ kind: "EngineGone", engine_id: "e", cause: /could not be started.*ENOENT/ }]);
});

t.test("its own engines are signalled and listed", async (t) => {
  const { ask, next } = setup();
  ask({ kind: "Spawn", engine_id: "e1", key: key(t.testdirName) });
  const listed = next("PoolReport");
  ask({ kind: "Resync", epoch: 3 });
  t.match(await listed, { epoch: 3, engines: [{ engine_id: "e1" }] });
  const gone = next("EngineGone");
  ask({ kind: "Signal", engine_id: "e1", pid: 0, signal: "SIGKILL" });
  t.match(await gone, { engine_id: "e1" });
  const after = next("PoolReport");
  ask({ kind: "Resync", epoch: 3 });
  t.match(await after, { engines: [], newest: "e1" }, "the name of an engine that has ended is not given again");
});

t.test("a process that polls is watched: its start time is told, and its end", async (t) => {
  const { ask, next } = setup();
  const child = await stranger(t);
  const pid = child.pid ?? 0;
  const seen = next("EngineSeen");
  ask({ kind: "Watch", engine_id: "far", pid_started: null, source_dir: "/s", module: "m.ts", pid });
  t.match(await seen, { engine_id: "far", pid_started: readProcess(pid).started });
  const ended = once(child, "exit");
  ask({ kind: "Look" });
  child.kill("SIGKILL");
  await ended;
  const gone = next("EngineGone");
  ask({ kind: "Look" });
  t.match(await gone, { engine_id: "far", cause: null });
});

t.test("a watched process is signalled; one that was never seen, another pid, this process and pid 1 are not", async (t) => {
  const { ask } = setup();
  const id = ["--engine-id", "far"];
  const [watched, other] = [await stranger(t, ...id), await stranger(t, ...id)];
  const signal = (engine_id: string, pid: number) => ask({ kind: "Signal", engine_id, pid, signal: "SIGKILL" });
  signal("unseen", other.pid ?? 0);
  ask({ kind: "Watch", engine_id: "far", pid_started: null, source_dir: "/s", module: "m.ts", pid: watched.pid ?? 0 });
  signal("far", other.pid ?? 0);
  for (const pid of [process.pid, 1, 0, -1]) signal("far", pid);
  const ended = once(watched, "exit");
  signal("far", watched.pid ?? 0);
  t.same(await ended, [null, "SIGKILL"]);
  t.equal(readProcess(other.pid ?? 0).alive, true);
});

t.test("a process that is not the engine that claims its pid gets no signal, and a line says so", async (t) => {
  const { ask, next, told } = setup();
  // Started by a shell that has ended, so that this test is not its parent.
  const pid = Number(execFileSync("sh", ["-c", "sleep 300 > /dev/null 2>&1 & echo $!"], { encoding: "utf8" }));
  t.teardown(() => process.kill(pid, "SIGKILL"));
  const named = await stranger(t, "--engine-id", "another");
  for (const claimed of [pid, named.pid ?? 0]) {
    ask({ kind: "Watch", engine_id: "far", source_dir: "/s", module: "m.ts", pid: claimed, pid_started: null });
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const complaint = next("complaint");
      ask({ kind: "Signal", engine_id: "far", pid: claimed, signal });
      t.match(await complaint, { text: `engine far says that it is process ${claimed}, but nothing else does` });
    }
    t.ok(readProcess(claimed).alive);
  }
  t.equal(told.filter(({ kind }) => kind === "complaint").length, 4);
});

t.test("a process is the engine where it, or its parent, holds a connection with the server", async (t) => {
  for (const [host, script] of [
    ["127.0.0.1", ENGINE_ITSELF],
    ["::", ENGINE_ITSELF],
    ["127.0.0.1", ENGINE_OF_PARENT],
  ] as const) {
    const { ask } = setup();
    const listener = createServer();
    await once(listener.listen(0, host), "listening");
    const { port } = listener.address() as AddressInfo;
    const child = spawn(process.execPath, ["-e", script, String(port)], { stdio: "ignore" });
    t.teardown(() => child.kill("SIGKILL"));
    const ended = once(child, "exit");
    const [socket] = (await once(listener, "connection")) as [Socket];
    socket.on("error", () => undefined);
    const pid = Number(String((await once(socket, "data"))[0]));
    ask({ kind: "Watch", engine_id: "far", source_dir: "/s", module: "m.ts", pid, pid_started: null });
    ask({ kind: "Signal", engine_id: "far", pid, signal: "SIGKILL" });
    await ended;
    t.equal(readProcess(pid).alive, false, `${host} ${script}`);
    listener.close();
  }
});

t.test("a process that started at another time than the engine gets no signal", async (t) => {
  const { ask, next } = setup();
  const child = await stranger(t, "--engine-id", "far");
  const pid = child.pid ?? 0;
  const { started } = readProcess(pid);
  t.type(started, "number");
  const seen = next("EngineSeen");
  ask({ kind: "Watch", engine_id: "far", source_dir: "/s", module: "m.ts", pid, pid_started: (started ?? 0) - 1 });
  t.match(await seen, { pid_started: (started ?? 0) - 1 });
  const gone = next("EngineGone");
  ask({ kind: "Signal", engine_id: "far", pid, signal: "SIGKILL" });
  ask({ kind: "Look" });
  t.match(await gone, { engine_id: "far" });
  t.ok(readProcess(pid).alive);
});

for (const [module, file] of [
  ["jobs.ts", "jobs.ts"],
  ["jobs", "jobs.py"],
  ["etl.daily", "etl/daily.py"],
  ["etl", "etl/__init__.py"],
] as const)
  t.test(`a module that changed is told once: ${module} in ${file}`, (t) => changedModule(t, module, file));

async function changedModule(t: Test, module: string, file: string): Promise<void> {
  const dir = testFolder(t);
  mkdirSync(dirname(join(dir, file)), { recursive: true });
  writeFileSync(join(dir, file), "1");
  const { ask, told, next } = setup();
  ask({ kind: "Spawn", engine_id: "e1", key: key(dir, { module }) });
  const gone = next("EngineGone");
  ask({ kind: "Look" });
  t.notOk(told.some(({ kind }) => kind === "ModuleChanged"));
  writeFileSync(join(dir, file), "2");
  utimesSync(join(dir, file), 1, 1);
  ask({ kind: "Look" });
  ask({ kind: "Look" });
  t.same(
    told.filter(({ kind }) => kind === "ModuleChanged"),
    [{ kind: "ModuleChanged", source_dir: dir, module }],
  );
  ask({ kind: "Signal", engine_id: "e1", pid: 0, signal: "SIGKILL" });
  await gone;
}

t.test("the module of an engine that was started by others is looked at for as long as the engine is there", async (t) => {
  const dir = testFolder(t, { "jobs.ts": "1" });
  const { ask, told } = setup();
  const child = await stranger(t);
  const changed = () => told.filter(({ kind }) => kind === "ModuleChanged").length;
  const change = (seconds: number) => {
    utimesSync(join(dir, "jobs.ts"), seconds, seconds);
    ask({ kind: "Look" });
  };
  ask({ kind: "Watch", engine_id: "far", pid: child.pid ?? 0, pid_started: null, source_dir: dir, module: "jobs.ts" });
  change(1);
  t.equal(changed(), 1);
  ask({ kind: "Unwatch", engine_id: "far" });
  change(2);
  t.equal(changed(), 1);
});

t.test("a reused pid is told from the process that was seen", async (t) => {
  const child = await stranger(t);
  const pid = child.pid ?? 0;
  const { started, alive } = readProcess(pid);
  t.equal(alive, true);
  t.equal(isSameProcess(pid, started), true);
  if (started !== null) t.equal(isSameProcess(pid, started + 1), false);
  t.equal(userOf(pid) ?? process.getuid?.(), process.getuid?.());
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  t.equal(readProcess(pid).alive, false);
});

t.test("patterns: star and question mark, everything else as it is", async (t) => {
  for (const [pattern, module, matches] of [
    ["*.py", "a/b.py", true],
    ["*.py", "a.pyc", false],
    ["job?.py", "job1.py", true],
    ["job?.py", "job.py", false],
    ["a+b(.py", "a+b(.py", true],
    ["*.py", "apy", false],
  ] as const) {
    t.equal(matchesPattern(pattern, module), matches, `${pattern} ${module}`);
  }
});

t.test(
  "what an engine that died has left in its process group ends, and one that ended as it should is left alone",
  async (t) => {
    for (const code of [0, 3]) {
      const file = join(t.testdirName, `left-${code}`);
      mkdirSync(t.testdirName, { recursive: true });
      const script = `const { pid } = require("child_process").spawn("sleep", ["300"], { stdio: "ignore" });
      require("fs").writeFileSync(${JSON.stringify(file)}, String(pid));
      process.exit(${code});`;
      const { ask, next } = setup(script);
      const gone = next("EngineGone");
      ask({ kind: "Spawn", engine_id: `engine-${code}`, key: key(t.testdirName) });
      await gone;
      const pid = Number(readFileSync(file, "utf8"));
      if (code === 0) {
        t.ok(readProcess(pid).alive);
        process.kill(pid, "SIGKILL");
      } else while (readProcess(pid).alive) await new Promise((resolve) => setImmediate(resolve));
    }
  },
);

t.test("processes with the mark of a run end with it, whatever they make of SIGTERM", async (t) => {
  const { ask } = setup();
  const env = { ...process.env, MILLRACE_RUN: "a-run-of-this-test" };
  const child = spawn("sh", ["-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], { env, detached: true });
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  ask({ kind: "EndProcesses", run: "a-run-of-this-test" });
  t.same(await ended, [null, "SIGKILL"]);
});
