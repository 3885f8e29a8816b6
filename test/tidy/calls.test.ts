import t from "tap";
import { findAll, PRODUCT, type SourceFile } from "./sources.ts";

/** A call that is allowed in certain places only, so that time, chance and the outside world can be replaced. */
interface Rule {
  what: string;
  pattern: RegExp;
  /** Places where the call is allowed, with the reason. */
  places: Readonly<Record<string, string>>;
}

const CLIENT_SIDE = "outside the server: user code, engine, command line and browser live in real time";

const RULES: readonly Rule[] = [
  {
    what: "wall clock",
    pattern: /\bDate\.now\(|\bnew Date\(\s*\)|\bperformance\.now\(/g,
    places: {
      "runtime/clock.ts": "the clock",
      "gateway/reads/reads.ts": "the age of running runs in an answer, never in a decision",
      "storage/postgres/": "how long a caller waits for a database that does not answer",
      "server/threads/open-waiting.ts": "how long the start waits for a database that does not answer",
      "server/threads/store-sizes.ts": "the age of a figure that is costly to ask for",
      "gateway/gateway-state.ts": "command ids above those of an earlier gateway thread",
      "sdk/": CLIENT_SIDE,
      "cli/": CLIENT_SIDE,
      "dashboard/": CLIENT_SIDE,
    },
  },
  {
    what: "timer",
    pattern: /\bset(?:Timeout|Interval)\(/g,
    places: {
      "runtime/timers.ts": "the alarm of a thread's timers",
      "runtime/loop-delay.ts": "samples of how late the event loop serves a timer, for the metrics",
      "runtime/thread.ts": "the supervisor's pause before a restart",
      "storage/read/read-pool.ts": "the time limit of a query in another thread",
      "storage/postgres/": "the time limit of a connection that has fallen silent",
      "gateway/commands/outstanding-commands.ts": "the grace of an orderly stop",
      "gateway/transport/node-transport.ts": "the time limits of a connection, which the socket itself keeps",
      "server/discovery/discovery.ts": "the time limit of importing a flow file in a child process",
      "server/user-code": "the time limit of user code in a child process",
      "server/main.ts": "how often the threads are asked for their figures",
      "actors/outbound/": "the time limits of requests to other systems",
      "sdk/": CLIENT_SIDE,
      "cli/": CLIENT_SIDE,
      "dashboard/": CLIENT_SIDE,
    },
  },
  {
    what: "chance",
    pattern: /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b|\buuidv7\(|\bV7Generator\b|\bgetRandomValues\b/g,
    places: {
      "actors/ids.ts": "the source of ids",
      "protocol/values/json.ts": "a mark that no sender can guess; gone before anything is decided",
      "storage/home/secret-box.ts": "nonces of the encryption",
      "server/": "names of files that are moved into place",
      "cli/": CLIENT_SIDE,
      "sdk/": CLIENT_SIDE,
    },
  },
  {
    what: "end of the process",
    pattern: /\bprocess\.(?:exit|abort)\(/g,
    places: {
      "sdk/engine/": "an engine process ends by its protocol",
      "cli/": "the command line",
      "server/user-code": "a child process of its own",
    },
  },
  {
    what: "code from text",
    pattern: /\beval\(|\bnew Function\(|\bnode:vm\b/g,
    places: {},
  },
  {
    what: "signal to a process",
    pattern: /\bprocess\.kill\(/g,
    places: {
      "actors/engine-processes/": "the owner of engine processes",
      "system/run-processes.ts": "engines and the server end the child processes of a run",
      "sdk/client/local-server.ts": "asks whether the server of a home lives",
      "storage/home/lock.ts": "asks whether the holder of the lock lives",
      "server/": "the server ends its own children",
      "cli/": "the command line",
    },
  },
];

function isAllowed(rule: Rule, file: SourceFile): boolean {
  return Object.keys(rule.places).some((place) => file.path === place || (!place.endsWith(".ts") && file.path.startsWith(place)));
}

for (const rule of RULES) {
  t.test(`${rule.what} is used in its places only`, async (t) => {
    t.same(
      findAll(
        PRODUCT.filter((file) => !isAllowed(rule, file)),
        rule.pattern,
      ),
      [],
    );
  });
}

t.test("decisions are made without the outside world", async (t) => {
  const deciding = [
    "core",
    "dispatcher",
    "expectation-timer",
    "lease-manager",
    "log-writer",
    "records",
    "rule-engine",
    "scheduler",
  ];
  const cores = PRODUCT.filter(({ path }) => deciding.some((folder) => path.startsWith(`actors/${folder}/`)));
  t.ok(cores.length > 0);
  t.same(findAll(cores, /from "node:(?!path")[^"]+"|\bprocess\.(?!env\b)\w+|\bsetImmediate\(|\bqueueMicrotask\(/g, "code"), []);
});

t.test("SQL stands in storage/ only", async (t) => {
  const others = PRODUCT.filter(({ folder }) => folder !== "storage");
  t.same(
    findAll(
      others,
      /["'`]\s*(?:SELECT\s[\s\S]{0,200}?\sFROM\s|INSERT\s+(?:OR\s\w+\s)?INTO\s|UPDATE\s\w+\sSET\s|DELETE\s+FROM\s|CREATE\s+(?:TABLE|INDEX)\s|PRAGMA\s)/g,
      "code",
    ),
    [],
  );
});
