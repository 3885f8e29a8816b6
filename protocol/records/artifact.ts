/** Artifacts: small display records published inside a run. */
import Type, { type Static } from "typebox";
import { ARTIFACT_BYTES_MAX, ARTIFACTS_PAGE } from "../limits.ts";
import { pageLimit, pageOf } from "../routes/page.ts";
import { FreeMap, Id, Int64, NameText, nullable, optional, sent, sizedJson, Timestamp } from "../values/scalar.ts";

export const ARTIFACT_KINDS = ["markdown", "table", "progress", "link", "image"] as const;
/** The kinds of artifacts, which decide how the data are shown. */
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];
export const ArtifactKindSchema = Type.Unsafe<ArtifactKind>({ type: "string", enum: [...ARTIFACT_KINDS] });

const fields = {
  id: Int64,
  external_id: Id,
  run_id: Int64,
  task_run_id: Type.Optional(nullable(Int64)),
  kind: ArtifactKindSchema,
  key: Type.Optional(nullable(Type.String())),
  data: FreeMap,
  created_at: Timestamp,
  updated_at: Timestamp,
};

/** A stored artifact. */
export const ArtifactRow = sent(Type.Object(fields, { title: "ArtifactRow" }));
export type ArtifactRow = Static<typeof ArtifactRow>;

/** An artifact in a listing across runs, with the run it belongs to. */
export const ArtifactListItem = sent(
  Type.Object(
    { ...fields, run_name: Type.String(), flow_name: Type.String(), project: Type.String() },
    { title: "ArtifactListItem" },
  ),
);
export type ArtifactListItem = Static<typeof ArtifactListItem>;

export const ArtifactsPage = pageOf("ArtifactsPage", ArtifactListItem);
export type ArtifactsPage = Static<typeof ArtifactsPage>;

/** Body of POST /api/artifacts. `data` is at most 1 MiB (1048576 bytes) as JSON text. */
export const ArtifactBody = Type.Object(
  {
    run_id: Int64,
    kind: ArtifactKindSchema,
    data: sizedJson(ARTIFACT_BYTES_MAX, FreeMap),
    key: optional(NameText),
    task_run_id: optional(Int64),
  },
  { title: "ArtifactBody" },
);
export type ArtifactBody = Static<typeof ArtifactBody>;

/** Query of GET /api/artifacts; newest first, `after` is the id of the last artifact seen. */
export const ArtifactsQuery = Type.Object({
  kind: Type.Optional(Type.String()),
  key: Type.Optional(Type.String()),
  flow: Type.Optional(Type.String()),
  project: Type.Optional(Type.String()),
  run_id: Type.Optional(Int64),
  limit: pageLimit(ARTIFACTS_PAGE),
  after: Type.Optional(Int64),
});
export type ArtifactsQuery = Static<typeof ArtifactsQuery>;
