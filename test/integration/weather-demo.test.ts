import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import t from "tap";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

t.test("the demo runs the flow through a real engine and says what to do next", async (t) => {
  const child = spawn(process.execPath, ["--conditions=millrace-src", "examples/weather/demo.ts"], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  t.equal(code, 0, errors);
  t.equal(errors, "");
  t.match(out, /^\nMillrace demo {2}a server at http:\/\/127\.0\.0\.1:\d+ on a temporary home\n/);
  t.match(out, /INFO {6}clean-flights-0 {2}20000 flights, all of them usable\n/);
  t.match(out, /\n11 tasks\n/);
  t.equal(out.match(/● Completed +\+/g)?.length, 11);
  t.match(out, /\*\*November\*\* is the wettest month in Seattle with 161 mm/);
  t.match(out, /\nimage {5}delay-chart {4}Late flights by hour of departure {2}SVG, [\d.]+ kB\n/);
  t.match(out, /\n● Completed after .*\.\n\nNext\n/);
  t.match(out, /npm run millrace -- serve examples\/weather\n/);
  t.notMatch(out, "\u001b", "a pipe gets plain text");
});
