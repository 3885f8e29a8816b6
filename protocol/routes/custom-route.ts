/**
 * Routes of user code: their allowed methods and paths, and the messages between the gateway, which keeps the connection, and
 * the user code actor, which has the handler called.
 */

import type { RouteSpec } from "../records/server.ts";
import { DASHBOARD_PAGES } from "./dashboard-pages.ts";

export const CUSTOM_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
export type CustomMethod = (typeof CUSTOM_METHODS)[number];

/** Reserved first segments: the API, agents, metrics, the files of the dashboard and its pages. */
const RESERVED_SEGMENTS: ReadonlySet<string> = new Set([
  ...["api", "mcp", "assets", "metrics"],
  ...Object.values(DASHBOARD_PAGES).map((page) => page.split("/")[1] ?? ""),
]);

const PATH_LENGTH_MAX = 512;
/** Characters of a fixed segment: those that need no encoding, because paths are compared as sent. */
const FIXED = /^[A-Za-z0-9._~!$&'()*+,;=:@-]+$/;
const PARAMETER = /^\{[A-Za-z_]\w*\}$/;

/** The error in the method or the path of a custom route, or null. */
export function checkCustomRoute(method: string, path: string): string | null {
  const named = `route ${method} ${path}`;
  if (!(CUSTOM_METHODS as readonly string[]).includes(method))
    return `${named}: the method is one of ${CUSTOM_METHODS.join(", ")}`;
  if (!path.startsWith("/") || path.length > PATH_LENGTH_MAX)
    return `${named}: the path begins with a slash and has at most ${PATH_LENGTH_MAX} characters`;
  const segments = path.slice(1).split("/");
  const [first = ""] = segments;
  if (RESERVED_SEGMENTS.has(first.toLowerCase()) || path === "/")
    return `${named}: the path belongs to the server; choose another first segment than ${first === "" ? "none" : `"${first}"`}`;
  if (segments.length === 1 && first.includes("."))
    return `${named}: files at the top belong to the dashboard; put the route into a folder`;
  for (const segment of segments) {
    if (segment.startsWith("{") ? !PARAMETER.test(segment) : !FIXED.test(segment) || /^\.+$/.test(segment))
      return `${named}: a segment is plain text without encoding, or a parameter such as {name}; "${segment}" is neither`;
  }
  if (!FIXED.test(first)) return `${named}: the first segment is plain text, because a parameter there would take every path`;
  const names = segments.filter((segment) => segment.startsWith("{"));
  return new Set(names).size === names.length ? null : `${named}: a parameter has one place in a path`;
}

/** Two routes with the same shape match the same requests, whatever their parameters are called. */
export function routeShape(method: string, path: string): string {
  return `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`;
}

/** A custom route as the gateway serves it. */
export interface CustomRoute extends RouteSpec {
  method: CustomMethod;
  /** The module that declares it. */
  source: string;
  /** How long its handler may take, in ms. */
  limit_ms: number;
  /** Served without the token: an incoming hook, whose handler verifies the signature of each request. */
  public: boolean;
}

/** The current routes of user code; replaces every earlier list. */
export interface CustomRoutes {
  kind: "CustomRoutes";
  routes: CustomRoute[];
}

/** The user code actor has restarted: its earlier requests are lost. */
export interface RouteRequestsLost {
  kind: "RouteRequestsLost";
}

/** A request for a custom route. */
export interface RouteRequest {
  kind: "RouteRequest";
  /** Unique for the life of the process. */
  id: number;
  route: CustomRoute;
  method: string;
  url: string;
  /** Values of the path's parameters, decoded. */
  params: Record<string, string>;
  /** Flat list: name, value, name, value; names may repeat. */
  headers: string[];
  body: Uint8Array | null;
}

/** The client no longer waits for the answer. */
export interface RouteAbandoned {
  kind: "RouteAbandoned";
  id: number;
}

/** The answer of a handler. */
export interface RouteResponse {
  status: number;
  /** Flat list: name, value, name, value; names may repeat and are in lower case. */
  headers: string[];
  body: Uint8Array | null;
}

/** Why there is no answer: the handler threw or returned none, took too long, or its process ended. */
export type RouteFailure = { reason: "failed" | "timed out" | "ended"; error: string };

export interface RouteAnswer {
  kind: "RouteAnswer";
  id: number;
  outcome: RouteResponse | RouteFailure;
}

/** Messages from the user code actor to the gateway. */
export type RouteMessage = CustomRoutes | RouteAnswer | RouteRequestsLost;
