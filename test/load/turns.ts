/** The sides of a round in the order in which they are measured. */

/** The side that comes second finds a machine that the first has warmed or filled: they change places. */
export function inTurns<Side>(sides: readonly Side[], round: number): readonly Side[] {
  return round % 2 === 0 ? sides.toReversed() : sides;
}
