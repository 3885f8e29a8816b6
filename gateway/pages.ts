/** Paths outside the API: a landing page that says where the API is. No token: it shows nothing of the store. */
import { replyMethodNotAllowed, replyPage } from "./reply.ts";
import type { Exchange, HeaderList } from "./transport-port.ts";

const PAGE_HEADERS: HeaderList = [
  "content-type",
  "text/html; charset=utf-8",
  "content-security-policy",
  "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options",
  "nosniff",
  "referrer-policy",
  "no-referrer",
];

function landingPage(version: string, address: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Millrace</title></head>
<body>
<h1>Millrace ${escapeHtml(version)}</h1>
<p>The server is running. Its API is at <code>${escapeHtml(address)}/api</code>.</p>
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

export class Pages {
  readonly #page: string;

  constructor(version: string, address: string) {
    this.#page = landingPage(version, address);
  }

  serve(exchange: Exchange): void {
    if (exchange.method === "GET" || exchange.method === "HEAD") replyPage(exchange, PAGE_HEADERS, this.#page);
    else replyMethodNotAllowed(exchange, "GET, HEAD");
  }
}
