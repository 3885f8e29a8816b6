/** The outbound actor, wired for the server and the simulator alike; delivery is a port. */
import type { ActorSpec } from "#runtime/actor";
import type { Host } from "#runtime/host";
import { DISPATCHER, OUTBOUND } from "../names.ts";
import { Outbound, type OutboundPorts } from "../outbound/outbound.ts";
import type { ReceiverStarted } from "../rule-engine/rule-messages.ts";

/** `open` is called at each start of the actor. */
export function outboundActor(host: Host, open: () => Omit<OutboundPorts, "done">): ActorSpec {
  return {
    name: OUTBOUND,
    start: (_context, out) => {
      out.send(DISPATCHER, { kind: "ReceiverStarted", receiver: OUTBOUND } satisfies ReceiverStarted);
      return new Outbound({ ...open(), done: (message) => host.send(DISPATCHER, message) });
    },
  };
}
