import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { ignoreNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { ensureFlows } from "./bootstrap/ensure-flows.ts";
import { type FlowControl } from "./flow-control.ts";

export interface RunFlowControlDeps {
  readonly control: FlowControl | undefined;
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
}

const adjustMs = 10_000;
const ensureMs = 60_000;
const retryMs = 1000;

/** Keeps the objects of the configuration, their conditions, and the limits that follow from the demand. */
export async function runFlowControl(deps: RunFlowControlDeps, signal: AbortSignal): Promise<void> {
  const { control, client, clock, log } = deps;
  await runTogether(signal, [
    (ended) => every(clock, ended, async () => ((await attempt(log, () => ensureFlows(client))) ? ensureMs : retryMs)),
    (ended) => every(clock, ended, async () => adjusted(control)),
    (ended) => keepConditions(deps, ended),
  ]);
}

function adjusted(control: FlowControl | undefined): number {
  control?.adjust();
  return adjustMs;
}

/** Runs it now, and again after the time that it returns. */
async function every(clock: Clock, signal: AbortSignal, run: () => Promise<number>): Promise<void> {
  while (!signal.aborted) await clock.sleep(await run(), signal);
}

async function attempt(log: Log, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    log.warn("the configuration of priority and fairness could not be written", { error });
    return false;
  }
}

/** Says of every FlowSchema whether its priority level exists. */
async function keepConditions(deps: RunFlowControlDeps, signal: AbortSignal): Promise<void> {
  const { informers, client, clock, log } = deps;
  const levels = informers.of(PriorityLevelConfiguration);
  const schemas = informers.of(FlowSchema);
  const updates = new RecentUpdates();
  let wake = Promise.withResolvers<void>();
  const stops = [levels.subscribe(() => wake.resolve()), schemas.subscribe(() => wake.resolve())];
  const write = (schema: FlowSchema, condition: DanglingCondition) =>
    client
      .apply(
        FlowSchema,
        { metadata: { name: schema.metadata.name }, status: { conditions: [condition] } },
        { fieldManager: "api-priority-and-fairness-config-consumer-v1", force: true, subresource: "status" },
      )
      .catch(ignoreNotFound);
  const onAbort = (): void => wake.resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    while (!signal.aborted) {
      let isLate = false;
      for (const schema of schemas.list()) {
        const condition = planDangling(schema, levels.get({ name: levelOf(schema) }) !== undefined, clock.now());
        if (!condition) continue;
        if (updates.mayUpdate(schema.metadata.name, clock.now())) {
          isLate = !(await attempt(log, () => write(schema, condition))) || isLate;
        } else isLate = true;
      }
      if (isLate) await clock.sleep(lateMs, signal);
      else await wake.promise;
      wake = Promise.withResolvers<void>();
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    for (const stop of stops) stop();
  }
}
const lateMs = 30_000;

type DanglingCondition = NonNullable<FlowSchema["status"]["conditions"]>[number];

const levelOf = ({ spec }: FlowSchema): string => spec.priorityLevelConfiguration.name;

/** The condition to write; undefined if it is right. */
function planDangling(schema: FlowSchema, exists: boolean, now: number): DanglingCondition | undefined {
  const name = JSON.stringify(levelOf(schema));
  const reference = `This FlowSchema references the PriorityLevelConfiguration object named ${name}`;
  const wanted = exists
    ? { status: "False", reason: "Found", message: `${reference} and it exists` }
    : { status: "True", reason: "NotFound", message: `${reference} but there is no such object` };
  const current = schema.status.conditions?.find(({ type }) => type === "Dangling");
  const { status, reason, message } = current ?? {};
  if (status === wanted.status && reason === wanted.reason && message === wanted.message) return undefined;
  return { type: "Dangling", ...wanted, lastTransitionTime: timestamp(now) };
}

/** Two servers that disagree would write a condition back and forth: six times a minute is enough. */
class RecentUpdates {
  readonly #times = new Map<string, number[]>();

  mayUpdate(name: string, now: number): boolean {
    for (const [known, times] of this.#times) if ((times.at(-1) ?? 0) < now - 60_000) this.#times.delete(known);
    const times = (this.#times.get(name) ?? []).filter((time) => time >= now - 60_000);
    if (times.length >= 6) return false;
    this.#times.set(name, [...times, now]);
    return true;
  }
}
