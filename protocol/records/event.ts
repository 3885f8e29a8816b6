/** Events: the record of every meaningful change, and custom ones. */
import Type, { type Static } from "typebox";
import { EVENTS_PAGE, NAME_LENGTH_MAX, PAYLOAD_BYTES_MAX } from "../limits.ts";
import { pageLimit, pageOf } from "../routes/page.ts";
import { about, FreeMap, Id, Int64, NameText, nullable, optional, sent, Timestamp } from "../values/scalar.ts";

/** The subject of an event, or a related resource. */
export const Resource = sent(
  Type.Object(
    {
      id: Type.String(),
      kind: Type.String({ description: "run, task_run, flow, schedule, rule or custom; tag in related" }),
      name: Type.Optional(Type.String()),
    },
    { title: "Resource" },
  ),
);
export type Resource = Static<typeof Resource>;

/** A stored event; `seq` equals `id` and grows in commit order. */
export const Event = sent(
  Type.Object(
    {
      id: Int64,
      external_id: Id,
      seq: Int64,
      name: Type.String(),
      occurred: Timestamp,
      resource: Resource,
      related: Type.Optional(Type.Array(Resource)),
      payload: Type.Optional(FreeMap),
      run_id: Type.Optional(nullable(Int64)),
      flow_id: Type.Optional(nullable(Int64)),
    },
    { title: "Event" },
  ),
);
export type Event = Static<typeof Event>;

export const EventsPage = pageOf("EventsPage", Event);
export type EventsPage = Static<typeof EventsPage>;

const SentResource = Type.Object({
  id: NameText,
  kind: Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
  name: optional(NameText),
});

/** Body of POST /api/events. Without a resource the event is about the given run or flow, else about itself. */
export const EmitEventBody = Type.Object(
  {
    name: NameText,
    flow_id: optional(Int64),
    payload: Type.Optional(about(`At most ${PAYLOAD_BYTES_MAX} bytes as JSON text`, FreeMap)),
    resource: optional(SentResource),
    run_id: optional(Int64),
  },
  { title: "EmitEventBody" },
);
export type EmitEventBody = Static<typeof EmitEventBody>;

/** Query of GET /api/events. `after` and `before` bound `occurred`, both inclusive. */
export const EventsQuery = Type.Object({
  name: Type.Optional(Type.String({ description: "Exact name, or a prefix ending in *" })),
  resource_kind: Type.Optional(Type.String()),
  resource_id: Type.Optional(Type.String()),
  run_id: Type.Optional(Int64),
  flow_id: Type.Optional(Int64),
  after: Type.Optional(about("Occurred at or after this time", Int64)),
  before: Type.Optional(about("Occurred at or before this time", Int64)),
  limit: pageLimit(EVENTS_PAGE),
  cursor: Type.Optional(Int64),
  ascending: Type.Boolean({ description: "Oldest first", default: false }),
});
export type EventsQuery = Static<typeof EventsQuery>;
