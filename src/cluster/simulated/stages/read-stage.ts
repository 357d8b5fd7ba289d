import { Duration } from "#cel/values/value.ts";
import { compileTemplate, type Template } from "#lib/template/template.ts";
import { parseDuration } from "#schema/duration.ts";
import { fields, list, oneOf, readFields, text, wholeNumber } from "../read-fields.ts";
import { type Expression, located, readExpression } from "./read-expression.ts";
import { readSelector } from "./read-selector.ts";
import type { FinalizerChange, Stage, StageApply, StageDelay, StageEvent, StagePatch, StageStep } from "./stage.ts";
import { functionsFor, type StageScope } from "./stage-functions.ts";

export const stageApiVersion = "kwok.x-k8s.io/v1alpha1";

const specFields = ["resourceRef", "selector", "weight", "weightFrom", "delay", "next", "immediateNextStage", "steps"];
const maxMs = 2 ** 53 - 1;
const milliseconds = (value: unknown, where: string): number => wholeNumber(value, where, { min: 0, max: maxMs });

/** Reads a Stage of kwok. Throws an error that names the place of a fault; nothing is ignored. */
export function readStage(value: unknown, where: string): Stage {
  const object = fields(value, where, ["apiVersion", "kind", "metadata", "spec", "status"]);
  oneOf(object.apiVersion, `${where}.apiVersion`, [stageApiVersion]);
  oneOf(object.kind, `${where}.kind`, ["Stage"]);
  const name = text(fields(object.metadata ?? {}, `${where}.metadata`).name, `${where}.metadata.name`);
  const at = `Stage ${JSON.stringify(name)}: spec`;
  const spec = fields(object.spec, at, specFields);
  const reference = readFields<{ apiGroup: string; kind: string }>(spec.resourceRef, `${at}.resourceRef`, {
    apiGroup: text,
    kind: text,
  });
  const kind = text(reference.kind, `${at}.resourceRef.kind`);
  const { apiGroup: apiVersion = "v1" } = reference;
  if (spec.immediateNextStage !== undefined) flag(spec.immediateNextStage, `${at}.immediateNextStage`);
  return {
    name,
    apiVersion,
    kind,
    isFor: readSelector(spec.selector, `${at}.selector`),
    weightOf: readWeight(spec, at),
    delay: spec.delay === undefined ? undefined : readDelay(spec.delay, `${at}.delay`),
    steps: readSteps(spec, at, { apiVersion, kind }),
  };
}

function flag(value: unknown, where: string): boolean {
  if (typeof value === "boolean") return value;
  throw new Error(`${where} must be true or false, not ${JSON.stringify(value)}`);
}

function readWeight(spec: Readonly<Record<string, unknown>>, at: string): Stage["weightOf"] {
  const weight = wholeNumber(spec.weight ?? 0, `${at}.weight`, { min: 0, max: 2 ** 31 - 1 });
  if (spec.weightFrom === undefined) return () => weight;
  const from = readExpression(spec.weightFrom, `${at}.weightFrom`);
  return (object) => {
    const found = from(object);
    if (typeof found === "number") return Math.trunc(found);
    if (typeof found !== "string") return weight;
    return /^[-+]?\d{1,9}$/.test(found) ? Number(found) : undefined;
  };
}

function readDelay(value: unknown, where: string): StageDelay {
  const given = readFields<{
    durationMilliseconds: number;
    durationFrom: Expression;
    jitterDurationMilliseconds: number;
    jitterDurationFrom: Expression;
  }>(value, where, {
    durationMilliseconds: milliseconds,
    durationFrom: readExpression,
    jitterDurationMilliseconds: milliseconds,
    jitterDurationFrom: readExpression,
  });
  const { durationMilliseconds = 0, durationFrom, jitterDurationMilliseconds, jitterDurationFrom } = given;
  return {
    durationMs: timeOf(durationMilliseconds, durationFrom),
    latestMs: timeOf(jitterDurationMilliseconds, jitterDurationFrom),
  };
}

/** An expression gives a duration, or the moment at which it ends. The fixed time holds where it gives neither. */
function timeOf(fixedMs: number | undefined, from: Expression | undefined): StageDelay["durationMs"] {
  if (!from) return () => fixedMs;
  return (object, nowMs) => {
    const found = from(object);
    if (found instanceof Duration) return Number(found.nanos) / 1e6;
    if (typeof found !== "string") return fixedMs;
    return found === "" ? undefined : (momentOrDuration(found, nowMs) ?? fixedMs);
  };
}

const moment = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[-+]\d\d:\d\d)$/;

function momentOrDuration(found: string, nowMs: number): number | undefined {
  if (moment.test(found)) return Date.parse(found) - nowMs;
  try {
    return Number(parseDuration(found)) / 1e6;
  } catch {
    return undefined;
  }
}

interface Target {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Both forms: the older `next`, and `steps`. */
function readSteps(spec: Readonly<Record<string, unknown>>, at: string, target: Target): readonly StageStep[] {
  if (spec.steps !== undefined && spec.next !== undefined) throw new Error(`${at} has both next and steps: use steps`);
  if (spec.steps === undefined) return readNext(spec.next, `${at}.next`, target);
  return list(spec.steps, `${at}.steps`).flatMap((step, index) => readStep(step, `${at}.steps[${index}]`, target));
}

const nextFields = ["event", "finalizers", "delete", "patches", "statusTemplate", "statusSubresource", "statusPatchAs"];

function readNext(value: unknown, where: string, target: Target): readonly StageStep[] {
  const next = fields(value ?? {}, where, nextFields);
  if (next.patches !== undefined && next.statusTemplate !== undefined) {
    throw new Error(`${where} has both patches and statusTemplate: use patches`);
  }
  const patches = list(next.patches ?? [], `${where}.patches`).map((patch, index) =>
    readPatch(patch, `${where}.patches[${index}]`, target),
  );
  return [
    ...(next.event === undefined ? [] : [readEvent(next.event, `${where}.event`)]),
    ...(next.finalizers === undefined ? [] : [readFinalizers(next.finalizers, `${where}.finalizers`)]),
    ...patches,
    ...statusPatch(next, where, target),
    ...deletion(next.delete, `${where}.delete`),
  ];
}

function statusPatch(next: Readonly<Record<string, unknown>>, where: string, target: Target): readonly StageStep[] {
  const source = text(next.statusTemplate ?? "", `${where}.statusTemplate`);
  if (source === "") return [];
  const patch: StagePatch = {
    template: readTemplate(source, `${where}.statusTemplate`, target),
    type: usualType(target),
    root: "status",
    subresource: text(next.statusSubresource ?? "status", `${where}.statusSubresource`),
    as: next.statusPatchAs === undefined ? undefined : readUser(next.statusPatchAs, `${where}.statusPatchAs`),
  };
  return [{ type: "patch", patch }];
}

/** One entry of `steps`, which may do several things; kwok does them in this order. */
function readStep(value: unknown, where: string, target: Target): readonly StageStep[] {
  const step = fields(value, where, ["event", "finalizers", "delete", "patch", "apply"]);
  const gone = deletion(step.delete, `${where}.delete`);
  if (gone.length > 0 && (step.patch !== undefined || step.apply !== undefined)) {
    throw new Error(`${where} deletes the object and changes it: use two steps`);
  }
  return [
    ...(step.event === undefined ? [] : [readEvent(step.event, `${where}.event`)]),
    ...(step.finalizers === undefined ? [] : [readFinalizers(step.finalizers, `${where}.finalizers`)]),
    ...gone,
    ...(step.patch === undefined ? [] : [readPatch(step.patch, `${where}.patch`, target)]),
    ...(step.apply === undefined ? [] : [readApply(step.apply, `${where}.apply`, target)]),
  ];
}

const deletion = (value: unknown, where: string): readonly StageStep[] =>
  flag(value ?? false, where) ? [{ type: "delete" }] : [];

function readEvent(value: unknown, where: string): StageStep {
  const given = readFields<StageEvent>(value, where, {
    type: (type, at) => oneOf(type, at, ["Normal", "Warning"]),
    reason: text,
    message: text,
  });
  return { type: "event", event: { type: "Normal", reason: "", message: "", ...given } };
}

function readFinalizers(value: unknown, where: string): StageStep {
  const names = (items: unknown, at: string): readonly string[] =>
    list(items, at).map((item, index) =>
      text(fields(item, `${at}[${index}]`, ["value"]).value, `${at}[${index}].value`),
    );
  const change = readFields<FinalizerChange>(value, where, { add: names, remove: names, empty: flag });
  return { type: "finalizers", change: { add: [], remove: [], empty: false, ...change } };
}

/** Strategic for pods and nodes, as in kwok. */
const usualType = ({ apiVersion, kind }: Target): "strategic" | "merge" =>
  apiVersion === "v1" && (kind === "Pod" || kind === "Node") ? "strategic" : "merge";

function readPatch(value: unknown, where: string, target: Target): StageStep {
  const given = fields(value, where, ["subresource", "root", "template", "type", "impersonation"]);
  const patch: StagePatch = {
    template: readTemplate(given.template, `${where}.template`, target),
    type: oneOf(given.type ?? usualType(target), `${where}.type`, ["json", "merge", "strategic"]),
    root: text(given.root ?? "", `${where}.root`) || undefined,
    ...readWay(given, where),
  };
  return { type: "patch", patch };
}

function readApply(value: unknown, where: string, target: Target): StageStep {
  const given = fields(value, where, ["subresource", "template", "type", "impersonation"]);
  const apply: StageApply = {
    template: readTemplate(given.template, `${where}.template`, target),
    type: oneOf(given.type ?? "apply", `${where}.type`, ["apply", "merge", "strategic"]),
    ...readWay(given, where),
  };
  return { type: "apply", apply };
}

const readWay = (given: Readonly<Record<string, unknown>>, where: string): Pick<StagePatch, "subresource" | "as"> => ({
  subresource: text(given.subresource ?? "", `${where}.subresource`) || undefined,
  as: given.impersonation === undefined ? undefined : readUser(given.impersonation, `${where}.impersonation`),
});

const readUser = (value: unknown, where: string): string =>
  text(fields(value, where, ["username"]).username, `${where}.username`);

function readTemplate(value: unknown, where: string, { apiVersion, kind }: Target): Template<StageScope> {
  const source = text(value, where).trim();
  return located(where, () => compileTemplate(source, functionsFor(apiVersion, kind)));
}
