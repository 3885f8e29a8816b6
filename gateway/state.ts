/**
 * What the gateway remembers: the commands without an answer, the newest stream messages and who reads them, with the router
 * that is bound to these. It is built anew after a failure and takes over every connection of the former one, so clients
 * notice nothing but a pause; a reader of the stream is told to fetch everything.
 */
import { type Committed, eventAnswers, type FeedMessage, type LiveFlows } from "#protocol/feed";
import { type Alarm, createSystemAlarm } from "#runtime/timers";
import type { BodyMemory } from "./body-budget.ts";
import { OutstandingCommands } from "./commands.ts";
import type { Endpoint } from "./endpoint.ts";
import { buildRouter } from "./endpoints.ts";
import { McpEndpoint } from "./mcp/endpoint.ts";
import type { Reads } from "./reads.ts";
import type { Router } from "./router.ts";
import type { GatewayOptions, GatewayPorts } from "./server.ts";
import { StreamHub } from "./sse.ts";
import { StreamRing } from "./stream-ring.ts";

export class GatewayState {
  readonly router: Router<Endpoint>;
  // Far fewer than a thousand requests come per millisecond, so a gateway thread that starts later counts from above.
  readonly firstId = Date.now() * 1000;
  readonly #ports: Required<GatewayPorts>;
  readonly #reads: Reads;
  readonly #ring: StreamRing;
  readonly #hub: StreamHub;
  readonly #commands: OutstandingCommands;

  constructor(options: GatewayOptions, ports: Required<GatewayPorts>, reads: Reads, bodies: BodyMemory) {
    this.#ports = ports;
    this.#reads = reads;
    this.#ring = new StreamRing((kind, id) => reads.renderRow(kind, id));
    this.#hub = new StreamHub(this.#ring, {
      now: ports.now,
      // A message that cannot be rendered is told as a gap: no reason to begin anew.
      window: guardedAlarm(ports.defect),
      keepAlive: guardedAlarm(ports.defect),
      defer: (work) => setImmediate(() => guard(work, ports.defect)),
    });
    this.#commands = new OutstandingCommands({
      send: (actor, message) => ports.send(actor, message),
      now: ports.now,
      alarm: guardedAlarm(ports.failed),
      latestSeq: () => this.#ring.latest,
      renderEvent: (id) => reads.renderRow("event.created", id),
      firstId: this.firstId,
      bodies,
    });
    const mcp = new McpEndpoint({
      commands: this.#commands,
      reads,
      version: options.version,
      readOnly: options.mcp_read_only,
      newId: ports.newId,
      now: ports.now,
      wallUs: () => Date.now() * 1000,
      defect: ports.defect,
    });
    this.router = buildRouter(this.#commands, this.#hub, reads, mcp, ports.warn);
  }

  receive(message: FeedMessage | LiveFlows): void {
    if (message.kind === "Committed") this.#committed(message);
    else if (message.kind === "Reloaded") this.#commands.reloaded(message.epoch);
    else if (message.kind === "Decided") this.#commands.decided(message.commands);
    else if (message.kind === "ReadOnly") this.#commands.readOnly(message);
    else this.#reads.setLive(message.ids);
  }

  /** Goes on where a failed one ended. That one passes on what is still brought to it, as the rest of a body. */
  takeOver(former: GatewayState): void {
    this.#ring.continueAfter(former.#ring.latest);
    this.#commands.takeOver(former.#commands);
    this.#hub.takeOver(former.#hub);
  }

  /**
   * The message at which the former one failed, once more: each answer by itself, so that one which cannot be given costs
   * its own connection alone. Its stream messages stay out, which the next commit shows as a gap.
   */
  recover(message: FeedMessage | LiveFlows): void {
    if (message.kind !== "Committed") {
      guard(() => this.receive(message), this.#ports.defect);
      return;
    }
    const { replies } = message;
    for (let at = 0; at < replies.length; at += 3) {
      const id = Number(replies[at]);
      this.#settleOrCut(id, () => this.#commands.settle(replies.slice(at, at + 3)));
    }
    for (const [command, event] of eventAnswers(message)) this.#settleOrCut(command, () => this.#answerWithEvent(command, event));
    this.#tellRead(message);
  }

  /** Ends streams, waits for answers on their way for so long. */
  async stop(graceMs: number): Promise<void> {
    this.#hub.close();
    await this.#commands.stop(graceMs);
  }

  #committed(commit: Committed): void {
    // The ring first: an answer may tell the newest stream number, and its client may ask for the stream at once.
    const seamless = this.#ring.append(commit);
    for (const [command, event] of eventAnswers(commit)) this.#answerWithEvent(command, event);
    this.#commands.settle(commit.replies);
    this.#hub.published(seamless);
    this.#tellRead(commit);
  }

  /** Whatever became of it, it is no longer on its way. */
  #tellRead({ stream, first_seq }: Committed): void {
    if (stream.length > 0) this.#ports.read(first_seq + stream.length / 2 - 1);
  }

  /** An event is stored under a number that only the commit knows: its record is the answer to the command that emitted it. */
  #answerWithEvent(command: number, event: number): void {
    this.#commands.settle([command, 201, this.#reads.renderRow("event.created", event)]);
  }

  #settleOrCut(command: number, settle: () => void): void {
    try {
      settle();
    } catch (cause) {
      this.#ports.defect(cause);
      this.#commands.cut(command);
    }
  }
}

function guard(work: () => void, failed: (cause: unknown) => void): void {
  try {
    work();
  } catch (cause) {
    failed(cause);
  }
}

function guardedAlarm(failed: (cause: unknown) => void): Alarm {
  const alarm = createSystemAlarm();
  return { set: (delayUs, wake) => alarm.set(delayUs, () => guard(wake, failed)), clear: () => alarm.clear() };
}
