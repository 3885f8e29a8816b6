import { execSync, spawn } from "node:child_process";
import { once } from "node:events";
import { flow, log } from "millrace";

/** Started with the module, so it belongs to no run. */
const helper = spawn("sleep", ["300"], { stdio: "ignore" });
process.on("exit", () => helper.kill());

function start(script: string, detached = false): number {
  const child = spawn("sh", ["-c", script], { stdio: "ignore", detached });
  return child.pid ?? 0;
}

/** Has its name from the start, unlike a shell that has yet to execute it. */
function startSleep(detached = false): number {
  const child = spawn("sleep", ["300"], { stdio: "ignore", detached });
  return child.pid ?? 0;
}

const STUBBORN = "trap '' TERM; while :; do sleep 0.1; done";

export const waits = flow("waits", async () => {
  const child = spawn("sleep", ["300"]);
  log.info(`pids ${child.pid}`);
  await once(child, "exit");
  await new Promise(() => undefined);
});

export const stubborn = flow("stubborn", async () => {
  log.info(`pids ${start(STUBBORN)}`);
  await new Promise(() => undefined);
});

/** A process that has left its session, group and parent, and a process with a separate environment. */
export const hidden = flow("hidden", async () => {
  const daemon = spawn("setsid", ["--fork", "sh", "-c", "echo $$; exec sleep 300"], { stdio: ["ignore", "pipe", "ignore"] });
  const [pid] = await once(daemon.stdout, "data");
  daemon.stdout.destroy();
  const bare = spawn("sh", ["-c", "env -i sleep 300 & echo $!; wait"], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env["PATH"] },
  });
  const [second] = await once(bare.stdout, "data");
  log.info(`pids ${Number(pid)} ${Number(second)} ${bare.pid}`);
  await new Promise(() => undefined);
});

export const blocked = flow("blocked", () => {
  log.info("pids");
  execSync("sleep 300");
});

export const timed = flow("timed", { timeout: "500ms" }, async () => {
  log.info(`pids ${start(STUBBORN, true)}`);
  await new Promise(() => undefined);
});

export const leaves = flow("leaves", () => {
  log.info(`pids ${startSleep()} ${startSleep(true)}`);
});

let tries = 0;

export const fails = flow("fails", { retries: 1 }, () => {
  tries += 1;
  if (tries === 2) return;
  log.info(`pids ${startSleep(true)}`);
  throw new Error("on purpose");
});

export const ended = flow("ended", () => {
  log.info(`pids ${startSleep()}`);
  process.exit(1);
});
