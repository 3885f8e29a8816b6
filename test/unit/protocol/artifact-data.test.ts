import t from "tap";
import type { ArtifactKind } from "#protocol/records/artifact";
import { checkArtifactData } from "#protocol/records/artifact-data";

t.test("data is checked by the kind of the artifact, and further keys are free", async (t) => {
  const good: [ArtifactKind, unknown][] = [
    ["markdown", { text: "# hi", title: "t" }],
    ["table", { columns: ["a"], rows: [{ a: 1 }, [1]] }],
    ["table", { rows: [] }],
    ["progress", { value: 40, label: "load" }],
    ["progress", { value: 100, label: null }],
    ["link", { url: "http://x/", text: "x" }],
    ["image", { src: "data:," }],
  ];
  for (const [kind, data] of good) t.equal(checkArtifactData(kind, data), null, kind);
  const bad: [ArtifactKind, unknown][] = [
    ["markdown", {}],
    ["table", { rows: "x" }],
    ["table", { rows: [1] }],
    ["progress", { value: 101 }],
    ["progress", { value: "40" }],
    ["link", { text: "x" }],
    ["image", { src: 1 }],
  ];
  for (const [kind, data] of bad) t.match(checkArtifactData(kind, data), new RegExp(`^data of a ${kind} artifact: `), kind);
});
