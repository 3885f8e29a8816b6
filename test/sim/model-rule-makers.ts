/** A model of users who maintain rules and variables: they create, change, disable and delete them throughout. */

import type { RuleBody, RulePatch } from "#protocol/records/rule";
import type { CommandKind } from "#protocol/wire/command";
import type { Outcome, Pending, Request } from "./model-gateway.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./simulated-time.ts";

const WEBHOOK = { kind: "webhook", url: "http://outside/" } as const;
/** No limit except the rule's own events. */
const FREE = { max_per_minute: 0 } as const;
const EACH = { ...FREE, once: "never" } as const;
const ENDS = ["run.completed", "run.failed", "run.cancelled", "run.crashed"];

type RuleKind =
  | "once"
  | "each"
  | "tagged"
  | "limited"
  | "cooled"
  | "broken"
  | "starter"
  | "ring"
  | "state"
  | "schedules"
  | "watch"
  | "watchNotes"
  | "clock";

const KINDS: Record<RuleKind, number> = {
  once: 6,
  each: 4,
  tagged: 3,
  limited: 3,
  cooled: 3,
  broken: 2,
  starter: 3,
  ring: 2,
  state: 1,
  schedules: 2,
  watch: 6,
  watchNotes: 3,
  clock: 4,
};

type Action = "create" | "switch" | "edit" | "delete" | "setVariable" | "patchVariable" | "deleteVariable";

const WEIGHTS: Record<Action, number> = {
  create: 5,
  switch: 2,
  edit: 2,
  delete: 2,
  setVariable: 1,
  patchVariable: 1,
  deleteVariable: 1,
};
/** Maximum of rules; each uses a share of every seed's messages. */
const RULES_MAX = 8;

export interface RuleMakerPorts {
  time: SimulatedTime;
  random: Random;
  submit(request: Request, settled: (outcome: Outcome) => void): Pending | null;
  /** Rules that exist at the moment. */
  rules(): number[];
  /** Ids of schedules, including deleted ones. */
  newestSchedule(): number;
  calm(): boolean;
}

export class ModelRuleMakers {
  readonly #ports: RuleMakerPorts;
  readonly #meanPauseUs: number;

  constructor(ports: RuleMakerPorts) {
    this.#ports = ports;
    this.#meanPauseUs = ports.random.pick([200_000, 500_000]);
  }

  begin(): void {
    const { time, random } = this.#ports;
    const act = (): void => {
      if (this.#ports.calm()) return;
      this.#act();
      time.after(random.delayUs(this.#meanPauseUs), act);
    };
    time.after(0, act);
  }

  #act(): void {
    const { random } = this.#ports;
    const rules = this.#ports.rules();
    const rule = rules.length > 0 && random.chance(0.9) ? random.pick(rules) : random.between(1, 20);
    const name = random.pick(["a", "team/b", "c"]);
    switch (random.weighted(WEIGHTS)) {
      case "create":
        if (rules.length < RULES_MAX) this.#ask("CreateRule", 0, JSON.stringify(this.#rule()));
        return;
      case "switch":
        return this.#ask("PatchRule", rule, JSON.stringify({ enabled: random.chance(0.6) } satisfies RulePatch));
      case "edit":
        return this.#ask("PatchRule", rule, JSON.stringify(this.#patch()));
      case "delete":
        return this.#ask("DeleteRule", rule, null);
      case "setVariable":
        return this.#ask(
          "CreateVariable",
          0,
          JSON.stringify({ name, value: { n: random.below(9) }, secret: random.chance(0.5) }),
        );
      case "patchVariable":
        return this.#ask("PatchVariable", 0, JSON.stringify({ value: random.below(9) }), name);
      case "deleteVariable":
        return this.#ask("DeleteVariable", 0, null, name);
    }
  }

  #patch(): RulePatch {
    const { random } = this.#ports;
    return random.pick<RulePatch>([
      { name: "renamed" },
      { once: "never" },
      { do: [WEBHOOK] },
      { cooldown_seconds: random.pick([0, 1]) },
      { when: { events: ["run.failed", "note"] } },
    ]);
  }

  #rule(): RuleBody {
    const { random } = this.#ports;
    const name = random.weighted(KINDS);
    const schedule_id = random.between(1, this.#ports.newestSchedule() + 1);
    const within = random.pick([0.3, 1, 3]);
    const bodies: Record<RuleKind, () => Omit<RuleBody, "name">> = {
      once: () => ({
        ...FREE,
        when: { events: ["run.failed", "run.crashed", "run.c*"] },
        do: [{ ...WEBHOOK, body: "{{ run.name }}" }],
      }),
      each: () => ({ ...EACH, when: { events: ["note"] }, do: [WEBHOOK, { kind: "cancel_run" }, WEBHOOK] }),
      tagged: () => ({ ...FREE, when: { tags: ["t2"], states: ["Running", "Late"], project: "sim" }, do: [WEBHOOK] }),
      limited: () => ({ once: "never", max_per_minute: 3, when: { events: ["run.*"] }, do: [{ kind: "email", to: ["a@b.c"] }] }),
      cooled: () => ({ ...EACH, cooldown_seconds: 2, when: { events: ["note", "step"] }, do: [WEBHOOK] }),
      broken: () => ({ ...EACH, when: { events: ["note"] }, do: [{ ...WEBHOOK, body: "{{ nope }}" }, { kind: "cancel_run" }] }),
      starter: () => ({
        ...FREE,
        when: { events: ["run.completed"], flows: ["lone", "heavy"] },
        do: [{ kind: "run_flow", flow: "sim/meek", parameters: { text: "{{ run.name }}" } }],
      }),
      ring: () => ({
        once: "never",
        max_per_minute: 4,
        when: { events: ["run.completed"], flows: [random.pick(["plain", "meek"])] },
        do: [{ kind: "run_flow", flow: random.pick(["plain", "meek"]) }],
      }),
      state: () => ({ ...FREE, when: { events: ["run.late", "run.paused"] }, do: [{ kind: "set_state", state_type: "Failed" }] }),
      schedules: () => ({
        ...EACH,
        max_per_minute: 6,
        when: { events: ["note", "schedule.*"] },
        do: [{ kind: random.pick(["pause_schedule", "resume_schedule"]), schedule_id }],
      }),
      watch: () => ({ ...EACH, when: { events: ["run.running"] }, unless: { events: ENDS }, within, do: [WEBHOOK] }),
      watchNotes: () => ({
        ...EACH,
        when: { events: ["run.scheduled"] },
        unless: { events: ["note", "run.*"] },
        within,
        do: [WEBHOOK],
      }),
      clock: () => ({
        ...EACH,
        unless: { events: [random.pick(["note", "nothing"])] },
        at: { cron: "* * * * *" },
        within: random.pick([5, 20, null]),
        do: [WEBHOOK],
      }),
    };
    return { name, ...bodies[name]() };
  }

  #ask(kind: CommandKind, target: number, body: unknown, target_name?: string): void {
    const named = target_name === undefined ? {} : { target_name };
    this.#ports.submit({ kind, target, body, waitUs: null, local: true, ...named }, () => undefined);
  }
}
