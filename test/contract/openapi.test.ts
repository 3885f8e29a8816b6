import { Validator } from "@seriousme/openapi-schema-validator";
import t from "tap";
import { openapiDocument } from "#protocol/routes/openapi";
import { ROUTES } from "#protocol/routes/routes";
import { COMMANDS } from "#protocol/wire/command";

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string }[];
  requestBody?: { required: boolean };
  responses: Record<string, unknown>;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Record<string, unknown>> };
}

const document = JSON.parse(JSON.stringify(openapiDocument())) as Document;

t.test("a public validator finds nothing wrong with the document, and does find what is", async (t) => {
  const validate = async (changed: object) => new Validator().validate(JSON.parse(JSON.stringify({ ...document, ...changed })));
  const whole = await validate({});
  t.equal(whole.valid, true, JSON.stringify(whole.errors));
  t.equal(document.openapi.slice(0, 3), "3.1");
  t.equal((await validate({ info: { title: "no version" } })).valid, false);
  t.equal((await validate({ paths: { "/api/health": { get: { responses: { "200": {} } } } } })).valid, false);
});

t.test("operations are unique, and each command row names a command", async (t) => {
  t.equal(new Set(ROUTES.map(({ operation }) => operation)).size, ROUTES.length);
  t.equal(new Set(ROUTES.map(({ method, path }) => `${method} ${path}`)).size, ROUTES.length);
  for (const route of ROUTES) {
    t.equal(route.command !== undefined, route.kind === "command", route.operation);
    if (route.command !== undefined) t.ok(Object.hasOwn(COMMANDS, route.command), route.operation);
    t.ok(
      Object.keys(route.responses).some((status) => Number(status) < 300),
      route.operation,
    );
    // A retry without a body was there before the body.
    const isRequired = route.body !== undefined && route.operation !== "retryRun";
    t.equal(route.body_required, isRequired, route.operation);
  }
});

t.test("health and the answer to a callback need no token", async (t) => {
  t.same(
    ROUTES.filter(({ auth }) => !auth).map(({ path }) => path),
    ["/api/health", "/api/ready", "/api/callbacks/{token}"],
  );
});

t.test("the document says what it is", async (t) => {
  t.equal(document.openapi, "3.1.0");
  t.equal(document.info.version, "1.13.0");
});

t.test("every route is described, except the description itself", async (t) => {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const expected = ROUTES.map(({ method, path }) => `${method} ${path}`).filter((each) => each !== "GET /api/openapi.json");
  t.same(described.sort(), expected.sort());
});

t.test("what any endpoint may refuse is described with it", async (t) => {
  const statuses = (path: string, method: string) => Object.keys(document.paths[path]?.[method]?.responses ?? {});
  t.same(statuses("/api/health", "get"), ["200", "431", "default"]);
  t.same(statuses("/api/runs", "get"), ["200", "400", "401", "431", "default"]);
  t.same(statuses("/api/runs", "post"), ["201", "400", "401", "404", "409", "413", "415", "422", "431", "default"]);
  t.same(statuses("/api/runs/{id}/tasks", "get"), ["200", "400", "401", "404", "431", "default"]);
});

t.test("path parameters are declared where the path has them", async (t) => {
  for (const [path, methods] of Object.entries(document.paths)) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const { parameters = [], operationId } of Object.values(methods)) {
      const declared = parameters.filter((each) => each.in === "path").map((each) => each.name);
      t.same(declared, names, operationId);
    }
  }
});

t.test("every reference resolves and every component is used or known", async (t) => {
  const references = new Set<string>();
  const walk = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === "$ref") references.add(String(value));
      else walk(value);
    }
  };
  walk(document);
  for (const reference of references) {
    const name = reference.replace("#/components/schemas/", "");
    t.ok(Object.hasOwn(document.components.schemas, name), reference);
  }
  const unused = Object.keys(document.components.schemas).filter((name) => !references.has(`#/components/schemas/${name}`));
  t.same(unused, ["Flow"]);
});

t.test("required names are declared properties", async (t) => {
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    const properties = Object.keys((schema["properties"] ?? {}) as object);
    for (const required of (schema["required"] ?? []) as string[]) t.ok(properties.includes(required), `${name}.${required}`);
  }
});

t.test("the components that the endpoints need carry the names of the interface", async (t) => {
  const names = (
    "AcquireRequest AfterSpec ArtifactBody ArtifactListItem ArtifactRow ArtifactsPage CatchupPolicy Counts CreateRunBody " +
    "CreateRunForFlowBody EmitEventBody ErrorBody Event EventEntry EventsPage FailedRequest Flow FlowOptions FlowSummary " +
    "GraphEdge GraphNode HeartbeatRequest Id Log LogsPage ReleaseRequest ReportRequest ReportResponse Resource ResumeBody " +
    "RouteSpec Run RunGraph RunsPage Schedule ScheduleDecl ScheduleRow ServerInfo Settings SettingsPatch State StateEntry " +
    "StateType TaskRun TaskRunsPage TransitionBody TransitionRejected Vocabulary WorkItem WorkRequest WorkResponse i64"
  ).split(" ");
  for (const name of names) t.ok(Object.hasOwn(document.components.schemas, name), name);
});
