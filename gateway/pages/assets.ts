/** The built dashboard in memory: all files with headers and compressed forms, read once at the start. */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { HeaderList } from "../transport/transport-port.ts";

/** A file ready to be sent: plain, and in the forms that the build compressed. */
export interface Asset {
  headers: HeaderList;
  /** The `etag` of a file whose content may change; null for files with a hash in their name. */
  tag: string | null;
  plain: Uint8Array;
  br: Uint8Array | null;
  gzip: Uint8Array | null;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
};

/** The build puts a content hash into the name of each file in this folder. */
const HASHED = "/assets/";

/** Files by path, with a leading slash; empty if the folder holds no dashboard. */
export function loadAssets(folder: string): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  if (!existsSync(join(folder, "index.html"))) return assets;
  for (const name of globSync("**/*.*", { cwd: folder }).sort()) {
    const type = TYPES[extname(name)];
    if (type !== undefined) assets.set(`/${name.replaceAll("\\", "/")}`, readAsset(join(folder, name), `/${name}`, type));
  }
  return assets;
}

function readAsset(file: string, path: string, type: string): Asset {
  const plain = readFileSync(file);
  const hashed = path.startsWith(HASHED);
  const tag = hashed ? null : `"${createHash("sha256").update(plain).digest("base64url").slice(0, 27)}"`;
  const caching =
    tag === null ? ["cache-control", "public, max-age=31536000, immutable"] : ["cache-control", "no-cache", "etag", tag];
  const headers = ["content-type", type, "x-content-type-options", "nosniff", "vary", "accept-encoding", ...caching];
  return { headers, tag, plain, br: readForm(`${file}.br`), gzip: readForm(`${file}.gz`) };
}

function readForm(file: string): Uint8Array | null {
  return existsSync(file) ? readFileSync(file) : null;
}
