/** Which server library is used, and which versions of Node the program runs on. */
import t from "tap";
import { createTransport } from "#gateway/transport/transport";
import { NODE_MIN, nodeRefusal } from "../../../cli/node-version.ts";
import { readText } from "../../tidy/sources.ts";

const handler = { request: () => undefined, body: () => undefined, failed: () => undefined };
const broken = () => Promise.reject(new Error("no binary for this system\nand a stack"));

t.test("the fastest library that loads is taken, unless one is named", async (t) => {
  t.match(await createTransport(null, handler), { name: "uws", fallback: null });
  t.match(await createTransport("uws", handler), { name: "uws", fallback: null });
  t.match(await createTransport("node", handler), { name: "node", fallback: null });
});

t.test("without its binary the other one is taken, with the reason in one line; named, it is an error", async (t) => {
  t.match(await createTransport(null, handler, broken), { name: "node", fallback: "no binary for this system" });
  await t.rejects(createTransport("uws", handler, broken), /transport uws was asked for and cannot be loaded: no binary/);
});

t.test("the reason names the binary that is not there, not the systems that there are binaries for", async (t) => {
  const missing = () =>
    Promise.reject(new Error("This version supports only Linux\n\nError: Cannot find module './bin/uws.node'\nRequire stack:"));
  t.match(await createTransport(null, handler, missing), { fallback: "Cannot find module './bin/uws.node'" });
});

t.test("the program says in one line which Node it needs, as the package does", async (t) => {
  for (const version of ["18.20.4", "20.19.0", "22.18.0"])
    t.equal(nodeRefusal(version), `needs Node 22.19 or newer, this is ${version}`);
  for (const version of ["22.19.0", "22.23.3", "24.0.0", "25.1.0-nightly"]) t.equal(nodeRefusal(version), null);
  const { engines } = JSON.parse(readText("package.json")) as { engines: { node: string } };
  t.equal(engines.node, `>=${NODE_MIN.join(".")}.0`);
});
