/**
 * The OpenAPI 3.1 document, made from the table of routes and its schemas. A schema with a title becomes a component of that
 * name; any other schema is written inline.
 */
import { ErrorBody } from "../errors.ts";
import { INTERFACE_VERSION } from "../interface-version.ts";
import {
  BODY_BYTES_MAX,
  IDEMPOTENCY_KEY_LENGTH_MAX,
  JSON_DEPTH_MAX,
  JSON_NEW_KEY_VALUES,
  JSON_VALUES_MAX,
  REPORT_BYTES_MAX,
} from "../limits.ts";
import { Flow } from "../records/flow.ts";
import { type JsonMap, Timestamp } from "../values/scalar.ts";
import type { Route } from "./route.ts";
import { ROUTES } from "./routes.ts";

const STATUS_TEXT: Readonly<Record<string, string>> = {
  200: "Done",
  201: "Created",
  204: "Deleted",
  400: "The request cannot be read",
  401: "A token is required, or was rejected",
  404: "Not found",
  409: "Not possible in the current state",
  413: "The body is too large",
  415: "The body is not application/json",
  422: "The body or a value in it is not valid",
  431: "The head of the request is too large; the HTTP library answers, so the body is not JSON",
  default: "Any other refusal: its error says why",
};

/** The document as a plain object; built on each call, so keep its text. */
export function openapiDocument(routes: readonly Route[] = ROUTES): JsonMap {
  const components = new Components();
  // Flow is part of the interface although every answer has its longer form.
  components.use(Flow);
  // The component has the general description; a field may add its own.
  components.use(Timestamp);
  const paths: Record<string, JsonMap> = {};
  for (const route of routes) {
    if (!route.described) continue;
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, components) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace",
      description:
        "A local orchestration server for pipelines. Times are integers: microseconds since the Unix epoch, UTC. " +
        "Endpoints under /api/engine/ are for engine processes and carry no compatibility promise. " +
        `A body has at most ${BODY_BYTES_MAX} bytes, ${JSON_DEPTH_MAX} levels and ${JSON_VALUES_MAX} values, keys included, of ` +
        `which each different key counts as ${JSON_NEW_KEY_VALUES} (in a batch, each run has); an engine's report has at most ` +
        `${REPORT_BYTES_MAX} bytes.`,
      license: { name: "MIT", identifier: "MIT" },
      version: INTERFACE_VERSION,
    },
    paths,
    components: {
      schemas: components.sorted(),
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "Needed when the server has an API token" } },
    },
  };
}

function operation(route: Route, components: Components): JsonMap {
  const parameters = [...pathParameters(route), ...queryParameters(route, components), ...headerParameters(route)];
  const responses: JsonMap = {};
  const answers: Record<string, object | null> = { ...refusals(route), ...route.responses };
  for (const [status, schema] of Object.entries(answers)) {
    responses[status] = response(status, schema, route, components);
  }
  return {
    operationId: route.operation,
    summary: route.summary,
    tags: [route.path.split("/")[2] ?? "api"],
    ...(route.auth ? { security: [{ token: [] }, {}] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body === undefined
      ? {}
      : {
          requestBody: { required: route.body_required, content: { "application/json": { schema: components.use(route.body) } } },
        }),
    responses,
  };
}

/** The refusals of any endpoint of this form, beyond those in its row. */
function refusals({ body, query, path_parameters, auth, idempotency_key }: Route): Record<string, object | null> {
  const isNumbered = path_parameters.some(({ type }) => type === "int64");
  const statuses = [
    body !== undefined || query !== undefined || isNumbered ? ["400"] : [],
    auth ? ["401"] : [],
    isNumbered ? ["404"] : [],
    idempotency_key ? ["409"] : [],
    body === undefined ? [] : ["413", "415"],
    ["default"],
  ];
  return { ...Object.fromEntries(statuses.flat().map((status) => [status, ErrorBody])), 431: null };
}

function response(status: string, schema: object | null, route: Route, components: Components): JsonMap {
  const description = STATUS_TEXT[status] ?? "Answer";
  if (status === "200" && route.media_type !== undefined) {
    return { description, content: { [route.media_type]: { schema: { type: "string" } } } };
  }
  return schema === null ? { description } : { description, content: { "application/json": { schema: components.use(schema) } } };
}

function pathParameters(route: Route): JsonMap[] {
  return route.path_parameters.map(({ name, type }) => ({
    name,
    in: "path",
    required: true,
    schema: type === "int64" ? { type: "integer", format: "int64" } : { type: "string" },
  }));
}

function queryParameters(route: Route, components: Components): JsonMap[] {
  const properties = (route.query as { properties?: Record<string, object> } | undefined)?.properties ?? {};
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: false,
    schema: components.use(schema),
  }));
}

function headerParameters(route: Route): JsonMap[] {
  const parameter = (name: string, description: string, schema: JsonMap) => ({
    name,
    in: "header",
    required: false,
    description,
    schema,
  });
  const once = "The same key within 24 hours gives the first answer again";
  const trace = "W3C Trace Context: new runs continue this trace. A value that is not valid is ignored";
  return [
    ...(route.idempotency_key
      ? [parameter("Idempotency-Key", once, { type: "string", minLength: 1, maxLength: IDEMPOTENCY_KEY_LENGTH_MAX })]
      : []),
    ...(route.traceparent ? [parameter("traceparent", trace, { type: "string" })] : []),
  ];
}

/** Collects the schemas that have a title, and replaces them by references. */
class Components {
  readonly #schemas = new Map<string, JsonMap>();

  /** The schema as written in the document: a reference if it has a title, with its own description beside it. */
  use(schema: object): unknown {
    const { title, ...rest } = schema as JsonMap;
    const plain = this.#copy(rest);
    if (typeof title !== "string") return plain;
    const known = this.#schemas.get(title) ?? plain;
    const { description: general, ...form } = known;
    const { description, ...ownForm } = plain;
    if (JSON.stringify(form) !== JSON.stringify(ownForm)) throw new Error(`two different schemas are named ${title}`);
    this.#schemas.set(title, known);
    const reference = { $ref: `#/components/schemas/${title}` };
    return description === general ? reference : { ...reference, description };
  }

  sorted(): JsonMap {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Copies keywords; nested schemas go through `use`. */
  #copy(keywords: JsonMap): JsonMap {
    return Object.fromEntries(Object.entries(keywords).map(([keyword, value]) => [keyword, this.#keyword(keyword, value)]));
  }

  #keyword(keyword: string, value: unknown): unknown {
    if (keyword === "default" || keyword === "enum" || keyword === "const" || typeof value !== "object" || value === null)
      return value;
    if (Array.isArray(value)) return value.map((each) => (typeof each === "object" && each !== null ? this.use(each) : each));
    if (keyword !== "properties") return this.use(value);
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, this.use(schema as object)]));
  }
}
