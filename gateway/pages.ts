/**
 * Paths outside the API: the dashboard, which itself says where it has no page. No token: its files show nothing of the store, and the dashboard itself asks for one.
 * Where it was not built, a landing page says so and where the API is.
 */
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
/** Below this are the files of a build. One that is of another build is not found, instead of being the document. */
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
    if (exchange.method !== "GET" && exchange.method !== "HEAD") {
      replyMethodNotAllowed(exchange, "GET, HEAD");
      return;
    }
    const file = this.#assets.get(exchange.path);
    const asset = file ?? this.#assets.get(DOCUMENT);
    if (file === undefined && exchange.path.startsWith(FILES)) replyRefusal(exchange, refuse("not_found"));
    else if (asset !== undefined) sendAsset(exchange, asset);
    else replyFile(exchange, 200, [...LANDING_HEADERS, ...DOCUMENT_HEADERS], this.#landing);
  }
}

function sendAsset(exchange: Exchange, asset: Asset): void {
  const headers = asset.tag === null ? asset.headers : [...asset.headers, ...DOCUMENT_HEADERS];
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

/** True when the list of encodings names this one and does not rule it out. */
function accepts(list: string, encoding: string): boolean {
  return list.split(",").some((part) => {
    const [name = "", ...parameters] = part.trim().toLowerCase().split(";");
    return name === encoding && !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter));
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
