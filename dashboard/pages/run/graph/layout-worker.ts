/** The worker that lays graphs out: one request, one answer. */
import { layOut } from "./layout.ts";
import type { LayoutRequest } from "./layout-shapes.ts";

self.addEventListener("message", ({ data }: MessageEvent<LayoutRequest>) => {
  self.postMessage(layOut(data));
});
