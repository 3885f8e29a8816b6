/** docs/reference/http.md: every endpoint of the route table, with the records of requests and answers. */
import { INTERFACE_VERSION } from "#protocol/interface-version";
import type { Route } from "#protocol/routes/route";
import { ROUTES } from "#protocol/routes/routes";
import { anchor, code, page, sentence, table } from "./markdown.ts";
import { aboutWords, propertiesOf, recordsIn, type Schema, typeWords } from "./schema-words.ts";

/** Chapters by the first part of the path after /api. */
const CHAPTERS: readonly [title: string, parts: readonly string[]][] = [
  [
    "Server",
    [
      "health",
      "ready",
      "server",
      "clock",
      "queue",
      "actors",
      "metrics",
      "counts",
      "stats",
      "settings",
      "vocabulary",
      "openapi.json",
      "stream",
    ],
  ],
  ["Flows", ["flows"]],
  ["Runs", ["runs", "callbacks"]],
  ["Task runs", ["task-runs"]],
  ["Schedules", ["schedules"]],
  ["Backfills", ["backfills"]],
  ["Events", ["events"]],
  ["Rules", ["rules"]],
  ["Logs", ["logs"]],
  ["Artifacts", ["artifacts"]],
  ["Variables", ["variables"]],
  ["Resources", ["resources"]],
  ["Engines", ["engine"]],
];

const INTRODUCTION = `
Interface version ${INTERFACE_VERSION}. The machine-readable form is \`GET /api/openapi.json\`.

- Bodies are JSON with \`content-type: application/json\`. Unknown fields are ignored; where a field may be omitted,
  null means the same.
- **time** is an integer: microseconds since the Unix epoch, UTC. Ids in paths are integers.
- With a token every endpoint except \`GET /api/health\`, \`GET /api/ready\` and \`POST /api/callbacks/{token}\` requires
  \`Authorization: Bearer TOKEN\`. Requests over the Unix socket need no token.
- A refusal has the body \`{"error": "..."}\` and one of: 400 the request is malformed, 401 the token is missing or wrong, 403 the
  host or the origin is not allowed, 404 not found, 409 not possible in the present state, 413 the body is too large, 415 the body is
  not JSON, 422 the content is invalid, 429 too many requests to callbacks that are not open, 503 try again (nothing was applied), 507 the disk is full.
- Lists are pages: \`items\` and \`next_cursor\`, which is passed back as \`cursor\` (log lines and artifacts: \`after\`) and is null on the
  last page. A \`limit\` above the maximum is lowered.
- On endpoints marked *repeatable*, a header \`Idempotency-Key\` returns the first answer again for 24 hours;
  under the key of another request, the answer is 409 and nothing is done.
- Endpoints under \`/api/engine/\` are for engines ([guide](../guides/engines-in-other-languages.md)) and may change.
`.trim();

export function httpReference(): string {
  const placed = new Set<Route>();
  const chapters = CHAPTERS.map(([title, parts]) => {
    const routes = ROUTES.filter(({ path }) => parts.includes(path.split("/")[2] ?? path.slice(1)));
    for (const route of routes) placed.add(route);
    return { title, routes };
  });
  const missing = ROUTES.filter((route) => !placed.has(route)).map(({ path }) => path);
  if (missing.length > 0) throw new Error(`scripts/docs/http-reference.ts has no chapter for ${missing.join(", ")}`);
  const contents = chapters.map(({ title }) => `[${title}](${anchor(title)})`);
  return page(
    "# HTTP interface",
    INTRODUCTION,
    `Chapters: ${contents.join(", ")}, [Records](#records).`,
    ...chapters.flatMap(({ title, routes }) => [`## ${title}`, overview(routes), ...routes.map(endpoint)]),
    "## Records",
    "Fields of answers are always present, null without a value.",
    ...recordsIn(ROUTES.flatMap(({ body, responses }) => [body, ...Object.values(responses)])).map(record),
  );
}

function headingOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

function overview(routes: readonly Route[]): string {
  return table(
    ["Endpoint", ""],
    routes.map((route) => [`[${headingOf(route)}](${anchor(headingOf(route))})`, sentence(route.summary)]),
  );
}

function endpoint(route: Route): string {
  const { query, body, summary, idempotency_key, auth } = route;
  const notes = [idempotency_key ? "Repeatable." : "", auth ? "" : "Needs no token."].filter((note) => note !== "");
  return [
    `### ${headingOf(route)}`,
    [`${sentence(summary)}.`, ...notes].join(" "),
    query === undefined ? "" : fields(query as Schema, "Query"),
    body === undefined ? "" : bodyOf(body as Schema),
    answers(route),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function bodyOf(body: Schema): string {
  return typeof body["title"] === "string" ? `Body: ${typeWords(body)}.` : fields(body, "Body");
}

function fields(schema: Schema, head: string): string {
  const rows = propertiesOf(schema).map(({ name, schema: field }) => [code(name), typeWords(field), aboutWords(field)]);
  return rows.length === 0 ? "" : table([head, "Type", ""], rows);
}

function answers({ responses, media_type }: Route): string {
  const all = Object.entries(responses) as [string, Schema | null][];
  const refusals = all.filter(([status]) => Number(status) >= 400);
  const given = all
    .filter(([status]) => Number(status) < 400)
    .map(([status, schema]) => `${status} ${answerWords(schema, media_type)}`);
  const refused = refusals.length === 0 ? "" : ` Refuses with ${refusals.map(refusalWords).join(", ")}.`;
  return `Answers ${given.join(" or ")}.${refused}`;
}

function answerWords(schema: Schema | null, mediaType: string | undefined): string {
  if (mediaType !== undefined) return code(mediaType);
  return schema === null ? "without a body" : typeWords(schema);
}

/** The body of refusals is described once for the whole page. */
function refusalWords([status, schema]: [string, Schema | null]): string {
  return schema === null || schema["title"] === "ErrorBody" ? status : `${status} (${typeWords(schema)})`;
}

/** Request bodies state which fields are required; answers always have every field. */
const REQUEST = /(?:Body|Patch|Request)$/;

function record([title, schema]: [string, Schema]): string {
  const heading = `### ${title}`;
  const about = typeof schema["description"] === "string" ? `${sentence(schema["description"])}.` : "";
  const rows = propertiesOf(schema);
  if (rows.length === 0)
    return [heading, about, `${sentence(typeWords({ ...schema, title: undefined }))}.`].filter(Boolean).join("\n\n");
  const isRequest = REQUEST.test(title);
  const shown = rows.map(({ name, schema: field, required }) => [
    code(name),
    // Null means the same as leaving the field out.
    isRequest && !required ? typeWords(field).replace(/ or null$/, "") : typeWords(field),
    [isRequest && required ? "**needed**" : "", aboutWords(field)].filter((part) => part !== "").join("; "),
  ]);
  return [heading, about, table(["Field", "Type", ""], shown)].filter((part) => part !== "").join("\n\n");
}
