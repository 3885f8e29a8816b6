/** The worker that computes graph layouts: one request, one answer. */
import { layOut } from "./layout.ts";
import type { LayoutRequest } from "./layout-shapes.ts";

self.addEventListener("message", ({ data }: MessageEvent<LayoutRequest>) => {
  self.postMessage(layOut(data));
});
