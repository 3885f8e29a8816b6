/**
 * Start of a statement that makes many rows from few values: table `numbers` holds 0, 1, 2 ...; the first bound value is
 * their count.
 */
export const NUMBERS = "WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < ?)";
