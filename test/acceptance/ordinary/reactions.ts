/**
 * Rules see each event once, messages to other systems arrive, expectations end once, and deliveries of other services start
 * their runs once, while server and engines are killed and requests are repeated.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Event, Run } from "#sdk/client/index";
import { Random } from "../../sim/random.ts";
import type { Check } from "../check.ts";
import { acceptHome } from "../durable/sound-home.ts";
import { allRuns, isRepetition } from "../lineages.ts";
import { ENDED } from "../served-folder.ts";
import { CreatedOnce, numbers } from "./created-once.ts";
import { DisturbedFolder } from "./disturbed-folder.ts";
import { RepeatedRequests } from "./repeated-requests.ts";

const CAUSES = { watched: 6, told: 4, delivered: 4 } as const;
type Cause = keyof typeof CAUSES;
const STUCK_MS = 60_000;
const LOOK_MS = 250;
/** Of these messages the receiver refuses the first attempt. */
const REFUSED = 0.2;

export async function acceptReactions(folder: string, seed: number, check: Check): Promise<void> {
  const random = new Random(seed);
  const disturbed = await DisturbedFolder.start(folder, "", random);
  const receiver = await Receiver.start(random);
  const causes = new RepeatedRequests(CAUSES, { random, check }, (cause, n) => send(disturbed, cause, n, check));
  try {
    const webhook = { kind: "webhook", url: receiver.url, body: { n: "{{ payload.n }}" } } as const;
    const guards = { once: "never", max_per_minute: 100_000 } as const;
    await disturbed.client.rules.create({ name: "tell", when: { events: ["told"] }, do: [webhook], ...guards });
    await causes.sendWhileDisturbed(disturbed, 8);
    await reacted(disturbed, causes.added, receiver, check);
    const events = await disturbed.client.events
      .list({ name: "expectation.*", ascending: true }, { pageSize: 1_000 })
      .first(100_000);
    const completed = await disturbed.client.events.list({ name: "run.completed" }, { pageSize: 1_000 }).first(100_000);
    const runs = await allRuns(disturbed.client);
    verifyExpectations(runs, events, completed, check);
    new CreatedOnce(runs, check).verify("hooked", numbers(causes.added.delivered), ({ parameters }) => parameters["n"]);
    receiver.verify(causes.added.told, check);
    check.figure(
      `seed ${seed}: ${JSON.stringify(causes.added)}, ${JSON.stringify(disturbed.counts)}, ${causes.repeated} requests repeated, ${receiver.requests} webhooks`,
    );
  } finally {
    receiver.stop();
    await disturbed.served.stop();
  }
  acceptHome(disturbed.home, check);
}

/** Resolves once all runs have ended but those of schedules, no expectation is open and each message was taken. */
async function reacted(
  { client }: DisturbedFolder,
  { told }: Record<Cause, number>,
  receiver: Receiver,
  check: Check,
): Promise<void> {
  for (const untilMs = performance.now() + STUCK_MS; performance.now() < untilMs; await pause(LOOK_MS)) {
    const runs = await allRuns(client);
    const expectations = await client.events.list({ name: "expectation.*" }, { pageSize: 1_000 }).first(100_000);
    const count = (name: string) => expectations.filter((event) => event.name === `expectation.${name}`).length;
    const isDecided = count("armed") === count("met") + count("lapsed") && lateRuns(runs).length >= count("lapsed");
    const isOver = runs.every(({ flow_name, state }) => flow_name === "tick" || ENDED.has(state.type));
    if (isDecided && isOver && receiver.taken.size === told) return;
  }
  check.that(false, "all runs, expectations and messages end");
}

/** Each start of a watched run is expected to complete, and each that does not in time starts one run of `late`. */
function verifyExpectations(runs: readonly Run[], events: readonly Event[], completed: readonly Event[], check: Check): void {
  const watched = runs.filter(({ flow_name, start_time }) => flow_name === "watched" && start_time !== null).map(({ id }) => id);
  const of = (name: string) => events.filter((event) => event.name === name);
  const runOf = ({ run_id }: Event) => run_id ?? 0;
  check.same(sorted(of("expectation.armed").map(runOf)), sorted(watched), "starts of runs that are expected to complete");
  const deadlines = new Map(of("expectation.armed").map((event) => [runOf(event), Number(event.payload["deadline"])]));
  const ends = [...of("expectation.met"), ...of("expectation.lapsed")];
  check.same(sorted(ends.map(runOf)), sorted(watched), "ends of these expectations");
  const completions = new Map(completed.map((event) => [runOf(event), event.occurred]));
  for (const event of ends) {
    const isInTime = (completions.get(runOf(event)) ?? Infinity) <= (deadlines.get(runOf(event)) ?? 0);
    check.same(event.name === "expectation.met", isInTime, `run ${runOf(event)} completed in time`);
  }
  new CreatedOnce(runs, check).verify("late", of("expectation.lapsed").map(runOf), ({ parameters }) => parameters["of"]);
}

function lateRuns(runs: readonly Run[]): Run[] {
  return runs.filter((run) => run.flow_name === "late" && !isRepetition(run));
}

function sorted(numbers: readonly number[]): number[] {
  return numbers.toSorted((a, b) => a - b);
}

/** Sends a request; false if it has to be repeated. */
async function send({ client }: DisturbedFolder, cause: Cause, n: number, check: Check): Promise<boolean> {
  const options = { idempotencyKey: `${cause} ${n}` };
  if (cause === "watched") await client.runs.create({ project: "flows", flow: "watched", parameters: { n } }, options);
  else if (cause === "told") await client.events.emit({ name: "told", payload: { n } }, options);
  else return await deliver((await client.server()).url, n, check);
  return true;
}

/** As the services do whose webhooks follow the Standard Webhooks: signed, with an id, and again until they are taken. */
async function deliver(url: string, n: number, check: Check): Promise<boolean> {
  const body = JSON.stringify({ n });
  const time = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", "secret").update(`delivery-${n}.${time}.${body}`).digest("base64");
  const headers = {
    "content-type": "application/json",
    "webhook-id": `delivery-${n}`,
    "webhook-timestamp": time,
    "webhook-signature": `v1,${signature}`,
  };
  try {
    const answer = await fetch(`${url}/in/told`, { method: "POST", headers, body });
    const text = await answer.text();
    if (answer.status < 500) check.same(answer.status, 202, `delivery ${n} (${text})`);
    return answer.status < 500;
  } catch {
    return false;
  }
}

/** Takes webhooks. */
class Receiver {
  readonly url: string;
  readonly taken = new Set<number>();
  requests = 0;
  readonly #keys = new Map<number, Set<string>>();
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  static async start(random: Random): Promise<Receiver> {
    const server = createServer((request, response) => {
      let text = "";
      request.on("data", (part: Buffer) => {
        text += String(part);
      });
      request.on("end", () => {
        const n = Number(JSON.parse(text).n);
        const isTaken = receiver.#keys.has(n) || !random.chance(REFUSED);
        receiver.#take(n, String(request.headers["idempotency-key"]), isTaken);
        response.writeHead(isTaken ? 200 : 500).end();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const receiver: Receiver = new Receiver(server);
    return receiver;
  }

  #take(n: number, key: string, isTaken: boolean): void {
    this.requests += 1;
    this.#keys.set(n, (this.#keys.get(n) ?? new Set()).add(key));
    if (isTaken) this.taken.add(n);
  }

  verify(told: number, check: Check): void {
    const several = [...this.#keys].filter(([, keys]) => keys.size !== 1);
    check.same(several, [], "messages that were sent under several keys");
    check.same(this.#keys.size, told, "messages that were sent");
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
