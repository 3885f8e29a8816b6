import { execSync, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { write, writeSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { flow, task } from "millrace";

const SHELL_PRINTS = "echo child out; echo child err >&2";

export const streams = flow("streams", async () => {
  process.stdout.write("a whole line\n");
  process.stderr.write("an error line\n");
  process.stdout.write("begun ");
  process.stdout.write("and ended\n");
  process.stdout.write("Windows\r\n10%\r50%\r100%\n");
  process.stdout.write("68656c6c6f0a", "hex");
  process.stdout.write(new Uint8Array([0xe2, 0x82]));
  process.stdout.write(new Uint8Array([0xac, 0xff, 10]));
  console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
  console.table([{ a: 1 }]);
  writeSync(1, "by its descriptor\n");
  const text = Buffer.from("<<in part>>\n");
  await new Promise((resolve) => write(1, text, 2, 7, null, resolve));
  process.stdout.write("\nwithout an end");
  await new Promise<void>((resolve) => process.stdout.end(resolve));
  await new Promise<void>((resolve) => process.stdout.write(", still", () => resolve()));
});

export const tasks = flow("tasks", async () => {
  const say = task("say", async (name: string) => {
    process.stdout.write(`${name} `);
    await new Promise((resolve) => setImmediate(resolve));
    process.stdout.write(`says ${name}\n`);
  });
  await Promise.all([say("x"), say("y")]);
});

export const children = flow("children", async () => {
  await once(spawn("sh", ["-c", SHELL_PRINTS], { stdio: "inherit" }), "close");
  await once(
    spawn("sh", ["-c", "echo by streams; echo both >&2"], { stdio: ["ignore", process.stdout, process.stdout] }),
    "close",
  );
  await once(spawn("sh", ["-c", "echo by numbers >&2"], { stdio: ["ignore", 1, 2] }), "exit");
  const forked = fork(fileURLToPath(new URL("./forked.mjs", import.meta.url)));
  const [message] = await once(forked, "message");
  await once(forked, "close");
  const inherited = spawn("sh", ["-c", "true"], { stdio: "inherit" });
  await once(inherited, "close");
  return [message, inherited.stdout, inherited.stdio[2]];
});

export const synchronous = flow("synchronous", () => {
  const { stdout, status } = spawnSync("sh", ["-c", `${SHELL_PRINTS}; exit 3`], { stdio: "inherit" });
  execSync("echo kept; echo told >&2");
  execSync("echo $HOME_OF_CHILD", { stdio: "inherit", env: { HOME_OF_CHILD: "there" } });
  return [stdout, status];
});

export const background = flow("background", async () => {
  await once(spawn("sh", ["-c", "echo started; (sleep 60; echo too late) &"], { stdio: "inherit", detached: true }), "close");
});

export const unprinted = flow("unprinted", { logPrints: false }, async () => {
  process.stderr.write("not for the log\n");
  await once(spawn("sh", ["-c", "echo nor this >&2"], { stdio: "inherit" }), "close");
});

export const afterwards = flow("afterwards", () => {
  setTimeout(() => process.stderr.write("after the run\n"), 50);
  process.stdout.write("in the run\n");
});

/** Prints many characters, honouring backpressure. */
export const flood = flow("flood", async () => {
  const text = `${"x".repeat(1_000)}\n`.repeat(1_000);
  let waited = 0;
  process.stdout.on("drain", () => {
    waited += 1;
  });
  await pipeline(
    Readable.from(
      (function* () {
        for (let line = 0; line < 40_000; line += 1_000) yield text;
      })(),
    ),
    process.stdout,
    { end: false },
  );
  return waited;
});

export const longLine = flow("long-line", () => {
  process.stdout.write("y".repeat(600_000));
  process.stdout.write("z\n");
});
