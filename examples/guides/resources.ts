import { flow, lease, log, Type, task } from "millrace";

const transcode = task("transcode", { resources: { gpu: 1 } }, async (name: string) => `${name}.mp4`);

export const video = flow(
  "video",
  { parameters: Type.Object({ name: Type.String() }), maxConcurrent: 4, onOverlap: "enqueue" },
  async ({ name }) => {
    const file = await transcode(name);
    await lease({ uplink: 0.5 }, async () => log.info(`uploading ${file}`));
    return file;
  },
);

export const nightly = flow("nightly", { resources: { database: 1 }, maxConcurrent: 1, onOverlap: "skip" }, async () => "done");
