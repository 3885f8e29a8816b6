import type { Test } from "tap";

type Content = Parameters<Test["testdir"]>[0];

/**
 * `testdir` for what processes or servers of the test use: it is removed after the last teardown. The runner removes the folder
 * of a test that asks for it before its first teardown while those processes still run, which can fail.
 */
export function testFolder(t: Test, content: Content = {}): string {
  t.teardown(() => undefined);
  return t.testdir(content);
}
