import { flow, log, Type } from "millrace";

export const thumbnail = flow(
  "thumbnail",
  { parameters: Type.Object({ image: Type.String(), width: Type.Integer({ default: 200 }) }), retries: 2 },
  async ({ image, width }) => `${image}-${width}.png`,
);

const Gallery = Type.Object({ title: Type.String(), images: Type.Array(Type.String()) });

export const gallery = flow("gallery", { parameters: Gallery }, async ({ title, images }) => {
  const cover = await thumbnail.runAndWait({ image: images[0] ?? "none", width: 800 });
  const started = await thumbnail.startMany(
    images.map((image) => ({ image })),
    { tags: ["gallery"], idempotencyKey: `gallery ${title}` },
  );
  log.info("the cover is", cover, "and", started.length, "thumbnails are under way");
  return await Promise.all(started.map((each) => each.result()));
});
