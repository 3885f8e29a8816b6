/**
 * Paths outside the API: pages and files of the dashboard. They need no token: the files contain nothing of the store, and
 * the dashboard asks for the token itself. Any other path is 404; a browser gets the dashboard's document with the 404, which
 * shows the error and links to the pages. Without a built dashboard, a landing page explains that and names the API.
 */

import { refuse } from "#protocol/errors";
import { pageAt } from "#protocol/routes/dashboard-pages";
import { replyFile, replyMethodNotAllowed, replyRefusal } from "../request/reply.ts";
import type { Exchange, HeaderList } from "../transport/transport-port.ts";
import { type Asset, loadAssets } from "./assets.ts";

/**
 * Scripts and requests are limited to this server. Images of artifacts may be elsewhere. A text can become a script only
 * through the policy that starts the dashboard's worker.
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

  /** `folder` holds the built dashboard; null without one. */
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

/** A browser navigation asks for HTML; images, scripts and programs do not. Below `assets` there are only files of a build. */
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

/** True when a header's list of encodings or media types includes this entry and does not exclude it with q=0. */
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
