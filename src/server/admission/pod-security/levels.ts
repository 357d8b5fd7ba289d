import { own } from "#lib/data/own.ts";
import { type FieldError, invalidValue, root } from "#schema/field-error.ts";

/** From the most permissive to the strictest. */
export const levels = ["privileged", "baseline", "restricted"] as const;
export type Level = (typeof levels)[number];

/** A level of the standards, as a version of Kubernetes defined it: `v1.36`, or `latest`. */
export interface LevelVersion {
  readonly level: Level;
  readonly version: string;
}

/** What happens in a namespace: a pod is refused, reported to the audit log, or its author is warned. */
export interface Policy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}
export type Mode = keyof Policy;
export const modes = ["enforce", "audit", "warn"] as const satisfies readonly Mode[];

const unrestricted: LevelVersion = { level: "privileged", version: "latest" };
export const privilegedPolicy: Policy = { enforce: unrestricted, audit: unrestricted, warn: unrestricted };

export const labelPrefix = "pod-security.kubernetes.io/";
const labelOf = { enforce: `${labelPrefix}enforce`, audit: `${labelPrefix}audit`, warn: `${labelPrefix}warn` };
const versionLabelOf = {
  enforce: `${labelOf.enforce}-version`,
  audit: `${labelOf.audit}-version`,
  warn: `${labelOf.warn}-version`,
};

export const levelFault = `must be one of ${levels.join(", ")}`;
export const versionFault = 'must be "latest" or "v1.x"';

export const parseLevel = (text: string): Level | undefined => levels.find((level) => level === text);
export const isVersion = (text: string): boolean =>
  text === "latest" || (/^v1\.(0|[1-9][0-9]*)$/.test(text) && BigInt(text.slice(3)) <= maxInt);
const maxInt = 2n ** 63n - 1n;

export const isStricter = (a: Level, b: Level): boolean => levels.indexOf(a) > levels.indexOf(b);
export const isSame = (a: LevelVersion, b: LevelVersion): boolean => a.level === b.level && a.version === b.version;
export const formatLevel = ({ level, version }: LevelVersion): string => `${level}:${version}`;

type Labels = Readonly<Record<string, string>>;
export interface ReadPolicy {
  readonly policy: Policy;
  readonly faults: readonly FieldError[];
}

/**
 * The policy of a namespace with these labels; what they do not say is as in `defaults`. A label with a fault counts as
 * `restricted` or `latest` for enforcing, and as `privileged` for the other modes.
 */
export function readPolicy(labels: Labels | undefined, defaults: Policy): ReadPolicy {
  const faults: FieldError[] = [];
  const enforce = readMode("enforce", "restricted");
  const audit = readMode("audit", "privileged");
  const warn = readMode("warn", "privileged");
  return { policy: { enforce, audit, warn: warnToo(labels, enforce, warn) }, faults };

  function readMode(mode: Mode, fallback: Level): LevelVersion {
    const level = own(labels, labelOf[mode]);
    const version = own(labels, versionLabelOf[mode]);
    if (level === undefined && version === undefined) return defaults[mode];
    const known = level === undefined ? defaults[mode].level : parseLevel(level);
    if (!known) faults.push(invalidValue(labelPath(labelOf[mode]), level, levelFault));
    const isKnown = version === undefined || isVersion(version);
    if (!isKnown) faults.push(invalidValue(labelPath(versionLabelOf[mode]), version, versionFault));
    return { level: known ?? fallback, version: isKnown ? (version ?? defaults[mode].version) : "latest" };
  }
}

const labelPath = (label: string) => root.child("metadata", "labels").key(label);

/** Who is refused pods is also warned about what makes them, such as Deployments, unless the labels say otherwise. */
function warnToo(labels: Labels | undefined, enforce: LevelVersion, warn: LevelVersion): LevelVersion {
  const isAsked = parseLevel(own(labels, labelOf.enforce) ?? "") !== undefined;
  const isSaid = own(labels, labelOf.warn) !== undefined;
  if (isSaid || !isAsked || !isStricter(enforce.level, warn.level)) return warn;
  const ownVersion = own(labels, versionLabelOf.warn);
  return { level: enforce.level, version: ownVersion === undefined ? enforce.version : warn.version };
}
