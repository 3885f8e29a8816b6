/** Layout of a graph by the worker, repeated when its boxes or lines change but not when only states do. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Layout, LayoutRequest } from "./layout-shapes.ts";
import workerAddress from "./layout-worker.ts?worker&url";
import { calledBox, type GraphModel } from "./model.ts";

interface TypePolicy {
  createScriptURL(address: string): string;
}

/**
 * Only this policy may turn an address into a script (see the gateway's content security policy), and only this one address.
 */
const policy = (
  globalThis as { trustedTypes?: { createPolicy(name: string, rules: TypePolicy): TypePolicy } }
).trustedTypes?.createPolicy("millrace-worker", {
  createScriptURL: (address) => {
    if (address !== workerAddress) throw new TypeError("that is not the worker's address");
    return address;
  },
});

function startWorker(): Worker {
  return new Worker(policy?.createScriptURL(workerAddress) ?? workerAddress, { type: "module" });
}

export interface LaidOut {
  /** Null until the first answer; the former layout while the next is on its way. */
  layout: Layout | null;
  failed: boolean;
}

export function useLayout({ boxes, edges, called }: GraphModel): LaidOut {
  const [state, setState] = useState<LaidOut>({ layout: null, failed: false });
  const request: LayoutRequest = { boxes: [...boxes.map(({ id }) => id), ...called.map(calledBox)], edges };
  const shape = JSON.stringify(request);
  const worker = useMemo(startWorker, []);
  useEffect(() => {
    worker.onmessage = ({ data }: MessageEvent<Layout>) => setState({ layout: data, failed: false });
    worker.onerror = () => setState({ layout: null, failed: true });
    return () => worker.terminate();
  }, []);
  useEffect(() => worker.postMessage(request), [shape]);
  return state;
}
