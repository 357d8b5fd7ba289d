/**
 * Orders the names of API versions from the oldest to the newest: any other name, v1alpha1, v1beta1, v1, v2. Other names
 * are ordered by their letters, the first of them the newest.
 */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0;
  const [left, right] = [rankOf(a), rankOf(b)];
  if (!left && !right) return a < b ? 1 : -1;
  if (!left || !right) return left ? 1 : -1;
  for (const [index, rank] of left.entries()) if (rank !== right[index]) return rank - (right[index] ?? 0);
  return 0;
}

/** Its stage, major and minor number; undefined if it is not such a name. */
function rankOf(version: string): readonly number[] | undefined {
  const [, major, stage, minor = "0"] = /^v([1-9][0-9]{0,8})(?:(alpha|beta)([1-9][0-9]{0,8}))?$/.exec(version) ?? [];
  if (major === undefined) return undefined;
  return [stage === undefined ? 2 : stage === "beta" ? 1 : 0, Number(major), Number(minor)];
}
