/** A server in PostgreSQL with texts that no row of an index can hold, in a database with unusual settings; and databases refused. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { serving, startCommand } from "../support/command-line.ts";
import { type PostgresServer, postgresPrograms, startPostgres, type TestDatabase, urlOf } from "../support/postgres-server.ts";
import { ServedHome, type ServedProcess, until } from "../support/served-home.ts";

const programs = postgresPrograms();
const skip = programs === null && process.env["MILLRACE_TEST_POSTGRES"] !== "required" ? "PostgreSQL is not installed" : false;

/** Forms of texts that a role or a database may have. */
const UNUSUAL = ["bytea_output = escape", "standard_conforming_strings = off", "extra_float_digits = 0"];

/** Characters of four bytes each, so different that compression saves nothing. */
function textOf(length: number, seed: number): string {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return 0x2_0000 + ((state >>> 8) % 0xa000);
  };
  return String.fromCodePoint(...Array.from({ length }, next));
}

const NAMES = ["project", "flow", "run", "tag", "task", "state", "event", "resource", "key", "engine", "lease", "value"] as const;
type Texts = Record<(typeof NAMES)[number], string>;

/** A text for each name. */
function textsOf(length: number): Texts {
  return Object.fromEntries(NAMES.map((name, seed) => [name, textOf(length, length + seed)])) as Texts;
}

/** As long as names may be. */
const LONGEST = textsOf(1_000);
/** Longer than what an index holds whole, and short enough for the address of a request. */
const LONG = textsOf(300);

const uuid = ({ run }: Texts, end: number): string => `00000000-0000-4000-8000-${String(run.length + end).padStart(12, "0")}`;

/** A run with long texts everywhere, from its creation to its end; returns its id. */
async function executeRun(t: Test, server: ServedProcess, texts: Texts): Promise<number> {
  const call = async (path: string, body: unknown) => {
    const { status, body: answer } = await server.call("POST", path, body);
    t.ok(status === 200 || status === 201, `${path}: ${JSON.stringify(answer).slice(0, 200)}`);
    return answer;
  };
  const { project, flow, engine: engine_id } = texts;
  const after = { flow, key: "part" };
  const parameter_schema = { type: "object", properties: { part: { type: "string" } } };
  const place = { module: "etl.py", source_dir: "/flows" };
  await call("/api/runs", { project, flow: "follows", ...place, parameter_schema, options: { after }, name: "first" });
  const created = await call("/api/runs", {
    ...{ project, flow, ...place, name: texts.run, tags: [texts.tag] },
    ...{ parameter_schema, parameters: { part: texts.value }, options: { resources: { [texts.lease]: 1 } } },
  });
  const id = Number((created["run"] as { id: number } | undefined)?.id ?? created["id"]);
  await call(`/api/runs/${id}/transition`, { type: "Running" });
  const state = (type: string, name: string | null) => ({ type, name, timestamp: Date.now() * 1_000 });
  const events = [
    {
      kind: "task_run_created",
      seq: 1,
      external_id: uuid(texts, 1),
      name: texts.task,
      task_key: texts.task,
      dynamic_key: texts.task,
    },
    { kind: "task_run_transition", seq: 2, external_id: uuid(texts, 1), state: state("Running", null) },
    { kind: "task_run_transition", seq: 3, external_id: uuid(texts, 1), state: state("Completed", texts.state) },
    { kind: "custom", seq: 4, name: texts.event, payload: { note: "it's a \\ 100% text" } },
    {
      kind: "artifact",
      seq: 5,
      external_id: uuid(texts, 2),
      artifact_kind: "markdown",
      key: texts.key,
      data: { markdown: "done" },
    },
  ];
  await call("/api/engine/report", { engine_id, run_id: id, events });
  await call("/api/events", { name: texts.event, resource: { kind: "custom", id: texts.resource } });
  await server.call("PATCH", "/api/settings", { resources: { [texts.lease]: 2 } });
  await call(`/api/runs/${id}/transition`, { type: "Completed", name: texts.state, message: "it's a \\ 100% end" });
  return id;
}

interface Listed {
  items: Record<string, unknown>[];
}

/** What the server finds by the texts. */
async function look(server: ServedProcess, id: number): Promise<Record<string, unknown>> {
  const list = async (path: string, query: Record<string, string>) =>
    ((await server.call("GET", `${path}?${new URLSearchParams(query)}`)).body as unknown as Listed).items;
  const run = (await server.call("GET", `/api/runs/${id}`)).body;
  const state = run["state"] as { type: string; name: string };
  const ids = (items: Record<string, unknown>[]) => items.map((each) => each["id"]);
  return {
    run: [run["name"], run["flow_name"] ?? run["flow"], run["project"], run["tags"], state.type, state.name === LONG.state],
    externalIds: /^[0-9a-f-]{36}$/.test(String(run["external_id"])),
    byTag: ids(await list("/api/runs", { tags: LONG.tag })),
    byState: ids(await list("/api/runs", { state_name: state.name })),
    searched: ids(await list("/api/runs", { search: [...LONG.run].slice(200, 220).join("") })),
    byName: (await list("/api/runs", { sort: "name_asc" })).map((each) => each["name"]),
    event: (await list("/api/events", { name: LONG.event })).length,
    ofResource: (await list("/api/events", { resource_id: LONG.resource })).map((each) => each["name"]),
    artifacts: (await list("/api/artifacts", { key: LONG.key })).map((each) => each["key"]),
    follower: (await list("/api/runs", { flow: "follows", project: LONG.project })).length,
  };
}

t.test("texts beyond a row of an index, whatever the settings of the database", { skip }, async (t) => {
  const postgres = await startPostgres(programs ?? "", UNUSUAL);
  t.teardown(() => postgres.stop());
  const store = urlOf(await postgres.database("texts"));
  const [home, beside] = [new ServedHome(), new ServedHome()];
  t.teardown(() => Promise.all([home.remove(), beside.remove()]));

  const [server, reference] = [await home.serve("--store", store), await beside.serve()];
  const longest = await executeRun(t, server, LONGEST);
  const { status, body } = await server.call("GET", `/api/runs/${longest}`);
  t.equal(status, 200);
  t.match(body, { name: LONGEST.run, state: { type: "Completed", name: /… \(cut: 2000 characters\)$/ } });
  await executeRun(t, reference, LONGEST);
  const [id, same] = [await executeRun(t, server, LONG), await executeRun(t, reference, LONG)];
  const follows = async (each: ServedProcess) => ((await look(each, id))["follower"] === 2 ? true : null);
  await Promise.all([until(() => follows(server)), until(() => follows(reference))]);
  const found = await look(server, id);
  t.equal(id, same);
  t.same(found, await look(reference, same), "as in SQLite");
  t.match(found, { run: [LONG.run, LONG.flow, LONG.project, [LONG.tag], "Completed", true], externalIds: true, event: 2 });
  t.match(found, { byTag: [id], byState: [id], searched: [id], ofResource: [LONG.event], artifacts: [LONG.key] });
  await server.kill("SIGTERM");
  const again = await home.serve("--store", store);
  t.same(await look(again, id), found, "after a new start");
});

function serveOn(home: ServedHome, store: string, env: Record<string, string> = {}) {
  return startCommand(["serve", home.path, "--home", home.path, "--port", "0", "--no-open", "--store", store], { env });
}

/** What `millrace serve` says and ends with. */
async function startOn(home: ServedHome, store: string) {
  return await serveOn(home, store).ended;
}

t.test("a database that cannot hold a store is refused at once, and the text says what to do", { skip }, async (t) => {
  const postgres = await startPostgres(programs ?? "");
  t.teardown(() => postgres.stop());
  const home = new ServedHome();
  t.teardown(() => home.remove());
  const refused = async (url: string, text: RegExp) => {
    const { code, errors } = await startOn(home, url);
    t.equal(code, 3, errors);
    t.match(errors, text);
    t.notMatch(errors, /\n {4}at /, "no stack");
  };

  const ascii = await make(postgres, "ascii TEMPLATE template0 ENCODING 'SQL_ASCII'");
  await refused(urlOf(ascii), /the database ascii has the encoding SQL_ASCII: create one WITH ENCODING 'UTF8'/);
  const few = await make(postgres, "few");
  await postgres.rows("CREATE ROLE frugal LOGIN CONNECTION LIMIT 3");
  await postgres.rows("ALTER DATABASE few OWNER TO frugal");
  const limit = /the role frugal allows 3 connections, and a server needs 5 at least.*: ALTER ROLE frugal CONNECTION LIMIT 20/;
  await refused(urlOf({ ...few, user: "frugal" }), limit);
  await refused(
    `${urlOf(few)}&sslmode=verify-full&sslrootcert=/no/such.crt`,
    /the URL of the store cannot be used: .*\/no\/such\.crt/,
  );
});

t.test(
  "a URL without the password that the database asks for: from a password file, else refused at once",
  { skip },
  async (t) => {
    const postgres = await startPostgres(programs ?? "", ["password_encryption = scram-sha-256"]);
    t.teardown(() => postgres.stop());
    const home = new ServedHome();
    t.teardown(() => home.remove());
    const database = await make(postgres, "guarded");
    await postgres.rows("CREATE ROLE guard LOGIN PASSWORD 'open sesame'");
    await postgres.rows("ALTER DATABASE guarded OWNER TO guard");
    const [[rules = ""] = []] = (await postgres.rows("SHOW hba_file")) as [string][];
    writeFileSync(join(rules), "local guarded guard scram-sha-256\nlocal all all trust\n");
    await postgres.rows("SELECT pg_reload_conf()");
    const url = urlOf({ ...database, user: "guard" });
    const { code, errors } = await startOn(home, url);
    t.equal(code, 3, errors);
    t.match(errors, /asks for a password of the user guard, and neither the URL of the store nor PGPASSWORD nor a \.pgpass file/);

    const file = join(home.path, "passwords");
    writeFileSync(file, "*:*:guarded:guard:open sesame\n", { mode: 0o600 });
    // The driver's own way to the file is deprecated; the test runner keeps processes from printing that.
    const server = serveOn(home, url, { PGPASSFILE: file, NODE_OPTIONS: "--throw-deprecation" });
    await serving(t, server);
    server.child.kill();
    t.same(await server.ended.then(({ code, errors }) => ({ code, errors })), { code: 0, errors: "" });
  },
);

async function make(postgres: PostgresServer, definition: string): Promise<TestDatabase> {
  const [name = ""] = definition.split(" ");
  return { ...(await postgres.database(definition)), database: name };
}
