/** An event that the rule engine cannot process. */
import { RuleIndex } from "#actors/rule-engine/reactions/matching";

/** Processing the event with this id throws, like a defect in reading or matching; the returned function ends this. */
export function poisonEvents(poison: () => number): () => void {
  const { metBy } = RuleIndex.prototype;
  RuleIndex.prototype.metBy = function (event) {
    if (event.id === poison()) throw new Error("simulated defect");
    return metBy.call(this, event);
  };
  return () => {
    RuleIndex.prototype.metBy = metBy;
  };
}
