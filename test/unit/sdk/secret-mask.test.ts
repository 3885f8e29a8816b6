import fc from "fast-check";
import t from "tap";
import { LINE_CHARS_MAX } from "#sdk/execution/run-log";
import { SecretMask } from "#sdk/execution/secret-mask";
import { exec, flow, log, variable } from "#sdk/index";
import { PrintedLines } from "#sdk/output/printed-lines";
import { runFlow } from "#sdk/testing/index";

const SEEDS = 10_000;

/** Secrets of few different characters overlap, repeat and begin like each other. */
const secret = fc.string({ unit: fc.constantFrom("a", "b", "$", "(", "\\", "é", "€"), minLength: 4, maxLength: 12 });
const filler = fc.string({ unit: fc.constantFrom("x", " ", "=", "'", "\n", "ü"), maxLength: 8 });

t.test(`a secret that is split over chunks in any way appears in no line (${SEEDS} seeds)`, async (t) => {
  let masked = 0;
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(filler, fc.nat()), { minLength: 1, maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
      (secrets, parts, sizes) => {
        const mask = new SecretMask();
        for (const each of secrets) mask.add(each);
        const lines: string[] = [];
        const printed = new PrintedLines((line) => lines.push(mask.mask(line)), mask);
        const text = parts.map(([before, at]) => `${before}${secrets[at % secrets.length]}`).join("");
        const bytes = Buffer.from(text);
        for (let from = 0, turn = 0; from < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          printed.write(bytes.subarray(from, from + size));
          from += size;
        }
        printed.end();
        for (const line of lines) for (const each of secrets) if (line.includes(each)) throw new Error(`${each} in ${line}`);
        masked += lines.filter((line) => line.includes("***")).length;
      },
    ),
    { numRuns: SEEDS },
  );
  t.ok(masked >= SEEDS, "lines were masked");
});

t.test("a secret at the place where a long line is split is masked", async (t) => {
  const mask = new SecretMask();
  mask.add("swordfish");
  for (let offset = -12; offset <= 3; offset += 1) {
    const lines: string[] = [];
    const printed = new PrintedLines((line) => lines.push(mask.mask(line)), mask);
    const bytes = Buffer.from(`${"x".repeat(LINE_CHARS_MAX + offset)}swordfish and more`);
    for (let from = 0; from < bytes.length; from += 65_537) printed.write(bytes.subarray(from, from + 65_537));
    printed.end();
    const all = lines.join("");
    t.notMatch(all, /sword|fish/);
    t.match(all, /x\*\*\* and more$/);
  }
});

t.test("lines of a secret, and texts within it, are masked; short texts are not", async (t) => {
  const mask = new SecretMask();
  mask.add({
    user: "ada",
    password: "open sesame",
    keys: ["-----BEGIN KEY-----\nMIIEabc\r\n-----END KEY-----"],
    pin: 123_456,
    on: true,
  });
  t.equal(mask.mask("ada: open sesame 123456 true"), "ada: *** *** true");
  t.equal(mask.mask("key MIIEabc -----BEGIN KEY----- end"), "key *** *** end");
  t.equal(new SecretMask().mask("nothing"), "nothing");
});

t.test("what a run prints and logs after it has read or set a secret does not show it", async (t) => {
  const leaks = flow("leaks", async () => {
    await variable.set("token", { value: "swordfish" }, { secret: true });
    const { value } = (await variable.get<{ value: string }>("token")) ?? { value: "" };
    log.info("the token is %s", value);
    console.log({ value });
    await exec("sh", ["-c", 'printf sword; sleep 0.05; echo fish; echo "$1" >&2', "sh", value]);
    throw new Error(`refused: ${value}`);
  });
  const recording = await runFlow(leaks);
  t.equal(recording.state.type, "Failed");
  t.ok(recording.logs.length >= 5);
  for (const { message } of recording.logs) t.notMatch(message, /swordfish/);
  t.match(
    recording.logs.map(({ message }) => message),
    ["the token is ***", "{ value: '***' }"],
  );
});
