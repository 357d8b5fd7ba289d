import { type Random } from "#testing/arbitrary.ts";
import { allChanges, type Change, changed, nameOf } from "./mutate.ts";
import { type Tree } from "./samples/sample.ts";
import { type Script, type Step } from "./step.ts";
import { type Target } from "./target.ts";

/** Creates, updates and patches with one wrong or unusual field each. All but the first are dry runs. */
export function planFields(target: Target, { random, count }: { random: Random; count: number }): Script {
  const all = shuffled(allChanges(target.resource.schema, target.object), random);
  const ofStatus = target.has("status") ? all.filter(({ steps }) => steps[0] === "status") : [];
  const ofObject = all.filter(({ steps }) => steps[0] !== "status");
  const { collection, path, object, isStored } = target;
  if (!isStored) {
    const steps = ofObject.slice(0, count).map((mutation) => create(target, mutation, random));
    return { name: `fields ${path}`, steps: [], readOnly: steps };
  }
  const half = Math.ceil(count / 2);
  return {
    name: `fields ${path}`,
    steps: [
      { name: "base", method: "POST", path: collection, body: object },
      // A server that writes the status by itself has done so when the watch ends.
      { name: "wait", method: "GET", path: `${collection}?${nothing}`, forMs: 700 },
      { name: "settled", method: "GET", path },
    ],
    readOnly: [
      ...ofObject.slice(0, half).map((mutation) => create(target, mutation, random)),
      ...ofObject.slice(-half).map((mutation) => change(target, mutation, random)),
      ...ofStatus.slice(0, half).map((mutation) => change({ ...target, path: `${path}/status` }, mutation, random)),
    ],
    after: [{ name: "remove", method: "DELETE", path, body: { gracePeriodSeconds: 0 } }],
  };
}

function create({ collection, object: sample }: Target, mutation: Change, random: Random): Step {
  const name = nameOf(mutation);
  const object = changed(sample, mutation);
  const { name: old } = object.metadata as { name?: string };
  const body = old ? { ...object, metadata: { ...(object.metadata as Tree), name: newName(old) } } : object;
  return { name: `create with ${name}`, method: "POST", path: `${collection}?${query(random)}`, body };
}

/** Some names have a meaning, so those stay. */
const newName = (name: string): string => (/[.]/.test(name) ? name : `${name}-new`);

/** A watch that sees no object. */
const nothing = "watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dnope&timeoutSeconds=1";

const patchTypes = ["merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"];

function change({ path, resource, object: sample }: Target, mutation: Change, random: Random): Step {
  const name = nameOf(mutation);
  const object = changed(sample, mutation);
  if (random.chance(60)) {
    const version = resource.conditionalUpdate ? { resourceVersion: "@rv:settled@" } : {};
    const body = { ...object, metadata: { ...(object.metadata as Tree), ...version } };
    return { name: `update with ${name}`, method: "PUT", path: `${path}?${query(random)}`, body };
  }
  const type = random.pick(patchTypes);
  const owner = type.startsWith("apply") ? "&fieldManager=differ&force=true" : "";
  return {
    name: `${type} with ${name}`,
    method: "PATCH",
    path: `${path}?${query(random)}${owner}`,
    type: `application/${type}`,
    body: object,
  };
}

const validations = ["", "&fieldValidation=Strict", "&fieldValidation=Warn", "&fieldValidation=Ignore"];
const query = (random: Random): string => `dryRun=All${random.pick(validations)}`;

export function shuffled<T>(items: T[], random: Random): T[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [items[at], items[other]] = [items[other] as T, items[at] as T];
  }
  return items;
}
