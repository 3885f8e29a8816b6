import { flow, sh, Type, task } from "millrace";

const pack = task("pack", { retries: 1, timeout: "10m" }, async (folder: string, file: string) => {
  await sh`tar -czf ${file} -C ${folder} .`;
});

export const archive = flow(
  "archive",
  { parameters: Type.Object({ folder: Type.String(), file: Type.String() }) },
  async ({ folder, file }) => {
    await pack(folder, file);
    const { stdout } = await sh({ log: false })`tar -tzf ${file}`;
    return stdout.trim().split("\n").length;
  },
);
