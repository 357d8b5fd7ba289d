import { type Resource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { type Chain, runChain, type Waits } from "#lib/async/chain.ts";
import { because, refusalOrFault } from "../refusal.ts";
import { type AdmissionPlugin, type AdmissionRequest, type WriteType } from "./plugin.ts";

/** Runs between decoding and storing an object. */
export interface Admission {
  /** Runs before validation; each plugin sees the changes of those before it. */
  mutate(request: AdmissionRequest): void | Promise<void>;
  /** Runs on the object as it will be written. */
  validate(request: AdmissionRequest): void | Promise<void>;
}

type AdmissionChain = Chain<AdmissionPlugin, AdmissionRequest, never>;
type Plugins = readonly AdmissionPlugin[];

/** Calls the plugins in order; the first refusal ends the chain. */
export function createAdmission(plugins: Plugins, waits?: Waits): Admission {
  const mutating = concernedBy(plugins.filter((plugin) => plugin.mutate));
  const validating = concernedBy(plugins.filter((plugin) => plugin.validate));
  const base = { what: "admission plugin", meaning, waits };
  const mutate: AdmissionChain = { ...base, ask: (plugin, request) => plugin.mutate?.(request) };
  const validate: AdmissionChain = { ...base, ask: (plugin, request) => plugin.validate?.(request) };
  const askers = plugins.flatMap(({ again }) => again ?? []);
  return {
    mutate(request) {
      const first = runChain(mutate, mutating(request), request);
      // A plugin that changes the object without waiting never asks for a second round.
      if (askers.length === 0 || !(first instanceof Promise)) return first;
      return first.then(() => {
        if (!askers.some((asker) => asker.isNeeded(request))) return undefined;
        for (const asker of askers) asker.start(request);
        return runChain(mutate, mutating(request), request);
      });
    },
    validate: (request) => runChain(validate, validating(request), request),
  };
}

/** Which plugins have something to do with a write. Most have not, so they are asked once for each type of write. */
function concernedBy(plugins: Plugins): (write: WriteType) => Plugins {
  const known = new WeakMap<Resource, Map<string, Plugins>>();
  return ({ resource, operation, subresource }) => {
    const ofKind = known.get(resource) ?? new Map<string, Plugins>();
    known.set(resource, ofKind);
    const type = subresource === "" ? operation : `${operation} ${subresource}`;
    const found = ofKind.get(type);
    if (found) return found;
    const concerned = plugins.filter((plugin) => plugin.appliesTo({ resource, operation, subresource }));
    if (ofKind.size < maxTypes) ofKind.set(type, concerned);
    return concerned;
  };
}
/** More than any kind has operations and subresources. */
const maxTypes = 128;

/** A refusal remembers which plugin it came from, unless it knows better. */
function meaning(error: unknown, _: AdmissionRequest, { name }: AdmissionPlugin): "refusal" | "fault" {
  if (error instanceof StatusError) because(error, { by: `plugin ${name}` });
  return refusalOrFault(error);
}
