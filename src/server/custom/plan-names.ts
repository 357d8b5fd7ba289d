import { type CustomResourceNames, type DefinitionCondition } from "#api/apiextensions/definition-fields.ts";
import { equal } from "#lib/data/equal.ts";

/** Names that others in the group have. */
export interface UsedNames {
  /** Plural, singular and short names. */
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

export function usedNames(others: Iterable<CustomResourceNames>): UsedNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { plural, singular, shortNames = [], kind, listKind } of others) {
    for (const name of [plural, singular, ...shortNames]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  return { resources, kinds };
}

/** Which of the names that a definition asks for it gets, and the condition that says so. */
export function planNames(
  wanted: CustomResourceNames,
  accepted: CustomResourceNames,
  used: UsedNames,
): { readonly names: CustomResourceNames; readonly condition: DefinitionCondition } {
  const names: CustomResourceNames = { ...accepted };
  let condition: DefinitionCondition = {
    type: "NamesAccepted",
    status: "True",
    reason: "NoConflicts",
    message: "no conflicts found",
  };
  const refuse = (reason: string, message: string): void => {
    condition = { type: "NamesAccepted", status: "False", reason, message };
  };
  const taken = (name: string | undefined, mine: string | undefined, others: ReadonlySet<string>): boolean =>
    name !== mine && name !== undefined && others.has(name);
  const inUse = (name: string | undefined): string => `${JSON.stringify(name ?? "")} is already in use`;

  if (taken(wanted.plural, accepted.plural, used.resources)) refuse("PluralConflict", inUse(wanted.plural));
  else names.plural = wanted.plural;
  if (taken(wanted.singular, accepted.singular, used.resources)) refuse("SingularConflict", inUse(wanted.singular));
  else setOrDelete(names, "singular", wanted.singular);
  if (!equal(wanted.shortNames, accepted.shortNames)) {
    const mine = new Set(accepted.shortNames);
    const conflicts = (wanted.shortNames ?? []).filter((name) => !mine.has(name) && used.resources.has(name));
    if (conflicts.length > 0) refuse("ShortNamesConflict", aggregate(conflicts.map(inUse)));
    else setOrDelete(names, "shortNames", wanted.shortNames);
  }
  if (taken(wanted.kind, accepted.kind, used.kinds)) refuse("KindConflict", inUse(wanted.kind));
  else names.kind = wanted.kind;
  if (taken(wanted.listKind, accepted.listKind, used.kinds)) refuse("ListKindConflict", inUse(wanted.listKind));
  else setOrDelete(names, "listKind", wanted.listKind);
  setOrDelete(names, "categories", wanted.categories);
  return { names, condition };
}

const aggregate = (messages: readonly string[]): string =>
  messages.length === 1 ? (messages[0] ?? "") : `[${messages.join(", ")}]`;

function setOrDelete<K extends keyof CustomResourceNames>(
  names: CustomResourceNames,
  name: K,
  value: CustomResourceNames[K] | undefined,
): void {
  if (value === undefined) delete names[name];
  else names[name] = value;
}
