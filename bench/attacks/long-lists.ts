import { setTimeout as sleep } from "node:timers/promises";
import { allResources } from "#api/all.ts";
import { type Resource } from "#api/resource.ts";
import { maxMembers, maxValues } from "#schema/json/decode-error.ts";
import { type Filling, type LongPlace, longPlaces, withLongLists } from "#testing/lists/long-lists.ts";
import { BrokenClaim, count, summary } from "../lib/hostile.ts";
import { type Attack, type AttackTarget, type Question } from "./attack.ts";

/** Objects in which one list is as long as a body can be, for each list of each kind that can be created. */
export const attack: Attack = {
  name: "long lists",
  claim: "rules take time in proportion to the length of a list",
  needs: "server",

  async run(target, signal) {
    const answers = new Map<string, number>();
    const delays = new Map<string, number>();
    for (const round of endless(roundsOf(await writableKinds(target)))) {
      if (signal.aborted) break;
      for (const question of questionsOf(round, target.namespace)) {
        const { status, delayMs } = await askAndWatch(target, question);
        count(answers, status || "no answer");
        if (status >= 500) throw new BrokenClaim(`${status} for ${nameOf(round)}`);
        const name = `${question.method} ${nameOf(round)}`;
        delays.set(name, Math.max(delays.get(name) ?? 0, delayMs));
      }
    }
    return `${summary(answers)}; slowest: ${slowest(delays)}`;
  },
};

interface Round {
  readonly place: LongPlace;
  readonly filling: Omit<Filling, "count">;
}

const fillings: readonly Round["filling"][] = [
  { items: "full" },
  { items: "lean" },
  { items: "full", alike: true },
  { items: "lean", alike: true },
];
/** Lists with the same rules as others, so that one minute is enough for most. */
const twins = /template\.spec\.|(init|ephemeral)\w+\[]|podAntiAffinity\.|(startup|readiness)Probe|postStart/;
function roundsOf(kinds: readonly Resource[]): readonly Round[] {
  const places = kinds.flatMap(longPlaces).filter(({ path }) => !twins.test(path));
  return fillings.flatMap((filling) => places.map((place) => ({ place, filling })));
}

/** Those that the attacker may create. */
async function writableKinds({ ask, namespace }: AttackTarget): Promise<Resource[]> {
  const found: Resource[] = [];
  for (const resource of allResources) {
    const { scope, verbs } = resource;
    if (scope !== "Namespaced" || !verbs.includes("create") || !verbs.includes("update")) continue;
    const { status } = await ask({ path: `${pathOf(resource, namespace)}?dryRun=All`, body: {} });
    if (status !== 403) found.push(resource);
  }
  return found;
}

function* endless<T>(items: readonly T[]): Iterable<T> {
  for (;;) yield* items;
}

const nameOf = ({ place: { resource, path }, filling }: Round): string =>
  `${resource.kind} ${path} (${filling.items}${filling.alike ? ", alike" : ""})`;

/** Creates an object with the list, changes it in every way, and deletes it. */
function* questionsOf({ place, filling }: Round, namespace: string): Iterable<Question & { method: string }> {
  const { resource } = place;
  const made = longest(place, filling) as { metadata: { namespace: string; name: string } };
  made.metadata.namespace = namespace;
  const body = JSON.stringify(held(resource, made));
  const path = pathOf(resource, namespace);
  const one = `${path}/${made.metadata.name}`;
  yield { method: "POST", path: `${path}?dryRun=All`, body };
  yield { method: "POST", path, body };
  yield { method: "PUT", path: `${one}?dryRun=All`, body };
  yield { method: "PATCH", path: `${one}?dryRun=All`, body, type: "application/strategic-merge-patch+json" };
  const apply = `${one}?dryRun=All&fieldManager=attacker&force=true`;
  yield { method: "PATCH", path: apply, body, type: "application/apply-patch+json" };
  yield { method: "DELETE", path: one };
}

/** An object whose list fills the body. */
function longest(place: LongPlace, filling: Round["filling"]): object {
  const make = (length: number): object => withLongLists(place.resource, [place], { ...filling, count: length });
  const each = (valuesIn(make(20)) - valuesIn(make(10))) / 10;
  return make(Math.min(maxMembers, Math.floor((0.98 * maxValues) / Math.max(1, each))));
}

const valuesIn = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce((sum: number, inner) => sum + valuesIn(inner), 1)
    : 1;

/** The same object, which no controller acts on. */
function held({ kind }: Resource, object: object): object {
  const { spec } = object as { spec?: object };
  if (kind === "Pod") return { ...object, spec: { schedulingGates: [{ name: "example.com/held" }], ...spec } };
  return spec && /^(Deployment|ReplicaSet|ReplicationController)$/.test(kind)
    ? { ...object, spec: { ...spec, replicas: 0 } }
    : object;
}

function pathOf({ group, version, plural }: Resource, namespace: string): string {
  const base = group ? `/apis/${group}/${version}` : `/api/${version}`;
  return `${base}/namespaces/${namespace}/${plural}`;
}

/** Sends the request, and asks for the server's health on another connection until it is answered; 0 if it is not. */
async function askAndWatch(target: AttackTarget, question: Question): Promise<{ status: number; delayMs: number }> {
  let isOver = false;
  let delayMs = 0;
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const start = performance.now();
      await target.ask({ as: "nobody", path: "/healthz" }).catch(() => {});
      delayMs = Math.max(delayMs, performance.now() - start);
      await sleep(2);
    }
  };
  const watching = watch();
  const { status } = await target.ask(question).catch(() => ({ status: 0 }));
  isOver = true;
  await watching;
  return { status, delayMs };
}

const slowest = (delays: ReadonlyMap<string, number>): string =>
  [...delays]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`)
    .join(", ");
