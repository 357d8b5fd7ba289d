/** One condition for the server to be alive or ready. */
export interface HealthCheck {
  readonly name: string;
  /** Returns what is wrong, or undefined. */
  check(): string | undefined | Promise<string | undefined>;
}

export type HealthEndpoint = "healthz" | "livez" | "readyz";

/** The checks of a server, with upstream's names. Parts of the server add theirs while they start. */
export class Health {
  readonly #always: HealthCheck[] = ["ping", "log"].map((name) => ({ name, check: () => undefined }));
  readonly #ready: HealthCheck[] = [];
  #isEnding = false;

  /** For all three endpoints. */
  add(check: HealthCheck): void {
    this.#always.push(check);
  }
  /** For `/readyz` alone. */
  addReady(check: HealthCheck): void {
    this.#ready.push(check);
  }
  /** A step of the start, which may be several steps upstream: their checks fail until the returned function is called. */
  step(...names: readonly string[]): () => void {
    let isDone = false;
    const check = () => (isDone ? undefined : "not finished");
    for (const name of names) this.add({ name: `poststarthook/${name}`, check });
    return () => {
      isDone = true;
    };
  }
  /** From now on the server is not ready. */
  end(): void {
    this.#isEnding = true;
  }
  checksOf(endpoint: HealthEndpoint): HealthCheck[] {
    if (endpoint !== "readyz") return this.#always;
    const shutdown = { name: "shutdown", check: () => (this.#isEnding ? "process is shutting down" : undefined) };
    return [...this.#always, ...this.#ready, shutdown];
  }
}

interface Rendered {
  readonly status: number;
  readonly text: string;
}

/** One check: `ok`, or what is wrong. Who may read it is a matter of authorisation. */
export async function renderCheck(check: HealthCheck): Promise<Rendered> {
  const fault = await faultOf(check);
  return fault === undefined ? ok : { status: 500, text: `internal server error: ${fault}\n` };
}

interface HealthOptions {
  readonly verbose: boolean;
  readonly exclude: readonly string[];
}

/** Plain `ok`, or with `verbose` a line for each check; 500 if one fails. Anyone may ask, so it does not say why. */
export async function renderHealth(
  name: string,
  checks: readonly HealthCheck[],
  { verbose, exclude }: HealthOptions,
): Promise<Rendered> {
  const excluded = new Set(exclude);
  const lines = await Promise.all(checks.map((check) => lineOf(check, excluded.has(check.name))));
  const unknown = [...excluded.difference(new Set(checks.map((check) => check.name)))].sort();
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  const isHealthy = !lines.some((line) => line.startsWith("[-]"));
  if (isHealthy && !verbose) return ok;
  return {
    status: isHealthy ? 200 : 500,
    text: `${lines.join("\n")}\n${name} check ${isHealthy ? "passed" : "failed"}\n`,
  };
}

const ok: Rendered = { status: 200, text: "ok" };

async function lineOf(check: HealthCheck, isExcluded: boolean): Promise<string> {
  if (isExcluded) return `[+]${check.name} excluded: ok`;
  return (await faultOf(check)) === undefined ? `[+]${check.name} ok` : `[-]${check.name} failed: reason withheld`;
}

/** What a check says is wrong, also by throwing. */
export async function faultOf({ check }: HealthCheck): Promise<string | undefined> {
  try {
    return await check();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
