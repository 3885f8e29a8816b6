/**
 * The state of the gateway: commands without an answer, the newest stream messages and their readers, and the router bound to
 * these. After a failure, a new state is built and takes over all connections, so clients notice only a pause; readers of the
 * stream get `resync`.
 */
import { type Committed, eventAnswers, type FeedMessage, type LiveFlows } from "#protocol/wire/feed";
import { type Alarm, createSystemAlarm } from "#runtime/timers";
import { OutstandingCommands } from "./commands/outstanding-commands.ts";
import { RunWaits } from "./commands/run-waits.ts";
import type { GatewayOptions, GatewayPorts } from "./gateway.ts";
import { McpEndpoint } from "./mcp/endpoint.ts";
import type { Reads } from "./reads/reads.ts";
import type { BodyMemory } from "./request/body-budget.ts";
import type { Endpoint } from "./request/endpoint.ts";
import { buildRouter } from "./request/endpoints.ts";
import type { Readiness } from "./request/readiness.ts";
import type { Router } from "./request/router.ts";
import { StreamRing } from "./stream/stream-ring.ts";
import { StreamHub } from "./stream/subscribers.ts";

export class GatewayState {
  readonly router: Router<Endpoint>;
  // Far fewer than a thousand requests arrive per millisecond, so a gateway thread that starts later begins with a higher id.
  readonly firstId = Date.now() * 1000;
  readonly #ports: Required<GatewayPorts>;
  readonly #reads: Reads;
  readonly #ring: StreamRing;
  readonly #hub: StreamHub;
  readonly #commands: OutstandingCommands;
  readonly #waits: RunWaits;
  readonly #mcp: McpEndpoint;

  constructor(options: GatewayOptions, ports: Required<GatewayPorts>, reads: Reads, bodies: BodyMemory, readiness: Readiness) {
    this.#ports = ports;
    this.#reads = reads;
    this.#ring = new StreamRing(reads.messageRows());
    this.#hub = new StreamHub(this.#ring, {
      now: ports.now,
      // A message that cannot be rendered becomes a gap in the stream; that does not require a rebuild.
      window: guardedAlarm(ports.defect),
      keepAlive: guardedAlarm(ports.defect),
      defer: (work) => setImmediate(() => guard(work, ports.defect)),
    });
    this.#waits = new RunWaits({
      now: ports.now,
      alarm: guardedAlarm(ports.failed),
      ring: this.#ring,
      render: (id) => reads.renderRow("run.updated", id),
      hasEnded: (id) => reads.runHasEnded(id),
      defect: ports.defect,
    });
    this.#commands = new OutstandingCommands({
      send: (actor, message) => ports.send(actor, message),
      now: ports.now,
      alarm: guardedAlarm(ports.failed),
      latestSeq: () => this.#ring.latest,
      awaitEnd: (exchange, text, waitUs) => this.#waits.created(exchange, text, waitUs),
      renderEvent: (id) => reads.renderRow("event.created", id),
      firstId: this.firstId,
      bodies,
    });
    this.#mcp = new McpEndpoint({
      commands: this.#commands,
      reads,
      waits: this.#waits,
      version: options.version,
      readOnly: options.mcp_read_only,
      newId: ports.newId,
      now: ports.now,
      wallUs: () => Date.now() * 1000,
      defect: ports.defect,
    });
    this.router = buildRouter(
      { commands: this.#commands, hub: this.#hub, reads, waits: this.#waits, mcp: this.#mcp, readiness },
      ports,
    );
  }

  receive(message: FeedMessage | LiveFlows): void {
    if (message.kind === "Committed") this.#committed(message);
    else if (message.kind === "Reloaded") this.#commands.reloaded(message.epoch);
    else if (message.kind === "Decided") this.#commands.decided(message.commands);
    else if (message.kind === "ReadOnly") this.#commands.readOnly(message);
    else this.#reads.setLive(message.ids);
  }

  /** Takes over from a failed state, which forwards later input of its requests, such as the rest of a body. */
  takeOver(former: GatewayState): void {
    this.#ring.continueAfter(former.#ring.latest);
    this.#commands.takeOver(former.#commands);
    this.#hub.takeOver(former.#hub);
    this.#waits.takeOver(former.#waits);
  }

  /**
   * Handles the message at which the former state failed once more. Answers are settled one by one, so that an answer that
   * cannot be sent costs only its own connection. The stream messages are left out, which the next commit shows as a gap.
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

  /** Ends streams, and waits for outstanding answers at most this long. */
  async stop(graceMs: number): Promise<void> {
    this.#hub.close();
    this.#waits.stop();
    await this.#commands.stop(graceMs, this.#mcp.answered());
  }

  #committed(commit: Committed): void {
    // Append to the ring first: an answer may contain the newest stream number, and its client may open the stream at once.
    const seamless = this.#ring.append(commit);
    for (const [command, event] of eventAnswers(commit)) this.#answerWithEvent(command, event);
    this.#commands.settle(commit.replies);
    this.#waits.published(commit.stream, seamless);
    this.#hub.published(seamless);
    this.#tellRead(commit);
  }

  /** Reports the messages as read, even if handling them failed. */
  #tellRead({ acknowledge }: Committed): void {
    if (acknowledge !== undefined) this.#ports.read(acknowledge);
  }

  /** Answers with the record of an event: the id of the event, which the command emitted, is known only after the commit. */
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
