/** Start of a statement that makes many rows from few values: table `numbers` has 0, 1, 2 ..., as many as the first bound value says. */
export const NUMBERS = "WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < ?)";
