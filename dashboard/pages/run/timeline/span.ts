/** The part of a run's time that the timeline shows, kept in the address. */
import { param, setParams } from "../../../router/router.ts";

export interface Span {
  fromUs: number;
  toUs: number;
}

/** A part narrower than this share of the whole would be unreadable. */
const SHARE_MIN = 0.002;

/** The part given in the address, inside the whole; null without one. */
export function chosenSpan(whole: Span): Span | null {
  const [from, to] = param("span").split("-").map(Number);
  if (from === undefined || to === undefined || !(from < to)) return null;
  const fromUs = Math.max(whole.fromUs, from);
  const toUs = Math.min(whole.toUs, to);
  return fromUs < toUs ? { fromUs, toUs } : null;
}

/** Shows a part of the whole; everything if the part is the whole or too narrow to be intended. */
export function chooseSpan(part: Span, whole: Span): void {
  const all = whole.toUs - whole.fromUs;
  const fromUs = Math.max(whole.fromUs, Math.min(part.fromUs, part.toUs));
  const toUs = Math.min(whole.toUs, Math.max(part.fromUs, part.toUs));
  const share = (toUs - fromUs) / all;
  setParams({ span: share >= 1 || share < SHARE_MIN ? null : `${Math.round(fromUs)}-${Math.round(toUs)}` });
}
