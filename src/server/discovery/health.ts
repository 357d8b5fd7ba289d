/** One condition for the server to be alive or ready. */
export interface HealthCheck {
  readonly name: string;
  /** Returns what is wrong, or undefined. */
  check(): string | undefined;
}

/** Plain `ok`, or with `verbose` a line for each check; 500 as soon as one fails. */
export function renderHealth(
  name: string,
  checks: readonly HealthCheck[],
  { verbose, exclude }: { verbose: boolean; exclude: readonly string[] },
): { status: number; text: string } {
  const lines: string[] = [];
  let failed = false;
  for (const each of checks) {
    if (exclude.includes(each.name)) {
      lines.push(`[+]${each.name} excluded: ok`);
      continue;
    }
    const fault = each.check();
    if (fault) failed = true;
    lines.push(fault ? `[-]${each.name} failed: ${fault}` : `[+]${each.name} ok`);
  }
  if (failed) return { status: 500, text: `${lines.join("\n")}\n${name} check failed\n` };
  return { status: 200, text: verbose ? `${lines.join("\n")}\n${name} check passed\n` : "ok" };
}
