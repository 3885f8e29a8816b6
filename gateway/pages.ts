/**
 * Paths outside the API: the pages of the dashboard and its files. No token: its files show nothing of the store, and the dashboard
 * itself asks for one. Any other path is not found; a browser gets the dashboard's document with the 404, which says so and leads on.
 * Where it was not built, a landing page says so and where the API is.
 */
import { pageAt } from "#protocol/dashboard-pages";
import { refuse } from "#protocol/errors";
import { type Asset, loadAssets } from "./assets.ts";
import { replyFile, replyMethodNotAllowed, replyRefusal } from "./reply.ts";
import type { Exchange, HeaderList } from "./transport-port.ts";

/**
 * Nothing but our own files runs or is asked. Pictures of artifacts may lie elsewhere. A text can become script only through the
 * one policy that starts the dashboard's worker.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: https:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types millrace-worker",
].join("; ");

const DOCUMENT_HEADERS: HeaderList = [
  "content-security-policy",
  CONTENT_SECURITY_POLICY,
  "referrer-policy",
  "no-referrer",
  "cross-origin-opener-policy",
  "same-origin",
];
const LANDING_HEADERS: HeaderList = ["content-type", "text/html; charset=utf-8", "x-content-type-options", "nosniff"];

const DOCUMENT = "/index.html";
const FILES = "/assets/";

export class Pages {
  readonly #assets: ReadonlyMap<string, Asset>;
  readonly #landing: string;

  /** `folder` holds the built dashboard; null where there is none. */
  constructor(folder: string | null, version: string, address: string) {
    this.#assets = folder === null ? new Map() : loadAssets(folder);
    this.#landing = landingPage(version, address);
  }

  serve(exchange: Exchange): void {
    const file = this.#assets.get(exchange.path);
    if (file === undefined && pageAt(exchange.path) === null) this.#serveNothing(exchange);
    else if (exchange.method !== "GET" && exchange.method !== "HEAD") replyMethodNotAllowed(exchange, "GET, HEAD");
    else {
      const asset = file ?? this.#assets.get(DOCUMENT);
      if (asset !== undefined) sendAsset(exchange, asset);
      else replyFile(exchange, 200, [...LANDING_HEADERS, ...DOCUMENT_HEADERS], this.#landing);
    }
  }

  #serveNothing(exchange: Exchange): void {
    const document = this.#assets.get(DOCUMENT);
    if (document === undefined || !wantsDocument(exchange)) replyRefusal(exchange, refuse("not_found"));
    else replyFile(exchange, 404, documentHeaders(document), document.plain);
  }
}

/** A browser that goes to a page asks for HTML; a picture, script or program does not. Below `assets` are files of a build only. */
function wantsDocument(exchange: Exchange): boolean {
  return exchange.method === "GET" && !exchange.path.startsWith(FILES) && accepts(exchange.header("accept"), "text/html");
}

function documentHeaders(asset: Asset): HeaderList {
  return [...asset.headers, ...DOCUMENT_HEADERS];
}

function sendAsset(exchange: Exchange, asset: Asset): void {
  const headers = asset.tag === null ? asset.headers : documentHeaders(asset);
  if (asset.tag !== null && exchange.header("if-none-match") === asset.tag) {
    replyFile(exchange, 304, headers, null);
    return;
  }
  const accepted = exchange.header("accept-encoding");
  if (asset.br !== null && accepts(accepted, "br")) replyFile(exchange, 200, [...headers, "content-encoding", "br"], asset.br);
  else if (asset.gzip !== null && accepts(accepted, "gzip"))
    replyFile(exchange, 200, [...headers, "content-encoding", "gzip"], asset.gzip);
  else replyFile(exchange, 200, headers, asset.plain);
}

/** True when a header's list of encodings or media types names this one and does not rule it out. */
function accepts(list: string, wanted: string): boolean {
  return list.split(",").some((part) => {
    const [name = "", ...parameters] = part.trim().toLowerCase().split(";");
    return name === wanted && !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter));
  });
}

function landingPage(version: string, address: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Millrace</title></head>
<body>
<h1>Millrace ${escapeHtml(version)}</h1>
<p>The server is running. Its API is at <code>${escapeHtml(address)}/api</code>.</p>
<p>The dashboard is not built here: <code>npm run build:dashboard</code> makes it.</p>
<ul>
<li><a href="/api/health">Health</a></li>
<li><a href="/api/openapi.json">Description of the API (OpenAPI)</a></li>
<li><a href="/api/runs">Latest runs</a></li>
</ul>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
