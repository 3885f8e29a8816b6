import { writeSync } from "node:fs";

writeSync(2, "importing\n");
await new Promise(() => undefined);
