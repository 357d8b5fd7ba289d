import { LruMap } from "#lib/data/lru-map.ts";
import { isSoundBeside } from "#schema/check.ts";
import { type ApiObject, type Resource } from "./resource.ts";

/** What the rules of a kind look at in a new object. */
export interface Look {
  /** Objects with the same key have the same faults and warnings. */
  readonly key: string;
  /** The spec as JSON. */
  readonly spec: string;
}

export interface Looked extends Pick<Look, "spec"> {
  /** An object that looks the same had no fault and caused no warning. */
  readonly isKnown: boolean;
  /** This object has no fault and caused no warning. */
  remember(): void;
}

/**
 * Most pods are copies of another pod under another name. The rules for a new object are only applied to the first of
 * such copies. undefined if the rules of the kind have to look at the object itself.
 */
export function lookAt(resource: Resource, object: ApiObject): Looked | undefined {
  const look = resource.rulesLookAt?.(object);
  if (!look) return undefined;
  const { key, spec } = look;
  if (key.length > maxChars) return { spec, isKnown: false, remember() {} };
  const sound = soundOf(resource);
  const isKnown = sound.get(key) === true && isSoundBeside(resource.schema, object, "spec");
  return { spec, isKnown, remember: () => sound.set(key, true) };
}

function soundOf(resource: Resource): LruMap<string, true> {
  let sound = known.get(resource);
  if (!sound) {
    sound = new LruMap(maxLooks);
    known.set(resource, sound);
  }
  return sound;
}
const known = new WeakMap<Resource, LruMap<string, true>>();

/** Per kind: at most 2 MiB of text. V8 hashes much longer texts by their length alone, so they would make slow keys. */
const maxLooks = 128;
const maxChars = 8192;
