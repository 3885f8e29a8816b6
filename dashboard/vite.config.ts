/** The build of the dashboard: `npm run build:dashboard` writes dist/dashboard, with compressed forms beside each file. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defaultClientConditions, defineConfig, type Plugin } from "vite";

const ROOT = fileURLToPath(new URL(".", import.meta.url));
const OUT = join(ROOT, "../dist/dashboard");

/** Fonts are already compressed. */
const COMPRESSED = new Set([".html", ".js", ".css", ".svg"]);
/** Below this size the header costs more than compression saves. */
const BYTES_MIN = 512;

/** Writes .br and .gz once, so that the gateway can send them directly. */
function compress(): Plugin {
  return {
    name: "compress",
    apply: "build",
    closeBundle() {
      for (const entry of readdirSync(OUT, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !COMPRESSED.has(extname(entry.name))) continue;
        const path = join(entry.parentPath, entry.name);
        const plain = readFileSync(path);
        if (plain.length < BYTES_MIN) continue;
        writeFileSync(`${path}.br`, brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }));
        writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  root: ROOT,
  // Imports from protocol/ use its source.
  resolve: { conditions: ["millrace-src", ...defaultClientConditions] },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [compress()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: "es2022",
    // The first versions with light-dark().
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The policy of the gateway allows no data: fonts or scripts, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:4270" } },
});
