import { flow, log, Type, task, waitForInput } from "millrace";

const build = task("build", { cache: { key: "release-build", expires: "1h" } }, async () => "build 42");

export const release = flow("release", async () => {
  const made = await build();
  const answer = await waitForInput(
    `Release ${made}?`,
    Type.Object({ approve: Type.Boolean(), note: Type.Optional(Type.String()) }),
  );
  if (!answer.approve) return `${made} stays here`;
  log.info("released", answer.note ?? "without a note");
  return `${made} is out`;
});
