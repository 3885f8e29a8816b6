import { artifact, emit, flow, Type, task, waitForInput } from "millrace";

export const ask = flow("ask", async () => await waitForInput("Publish?", Type.Object({ publish: Type.Boolean() })));

export const hold = flow("hold", async () => {
  await emit("manual.holding");
  await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
});

export const publish = flow("publish", { parameters: Type.Object({ rows: Type.Integer() }) }, async ({ rows }) => {
  artifact.table(
    "Rows",
    Array.from({ length: rows }, (_, row) => ({ row, "\u001b[31mred": null })),
    { key: "rows" },
  );
  artifact.markdown("Notes", "# Notes\nall well");
  artifact.progress("Share", 25, { label: "a quarter" });
  artifact.link("Docs", "https://example.org/docs");
  artifact.image("Dot", new Uint8Array([1, 2, 3]));
});
