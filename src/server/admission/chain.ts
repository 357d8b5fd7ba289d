import { StatusError } from "#api/status.ts";
import { type Chain, runChain, type Waits } from "#lib/async/chain.ts";
import { because, refusalOrFault } from "../refusal.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "./plugin.ts";

/** Runs between decoding and storing an object. */
export interface Admission {
  /** Runs before validation; each plugin sees the changes of those before it. */
  mutate(request: AdmissionRequest): void | Promise<void>;
  /** Runs on the object as it will be written. */
  validate(request: AdmissionRequest): void | Promise<void>;
}

type AdmissionChain = Chain<AdmissionPlugin, AdmissionRequest, never>;

/** Calls the plugins in order; the first refusal ends the chain. */
export function createAdmission(plugins: readonly AdmissionPlugin[], waits?: Waits): Admission {
  const mutating = plugins.filter((plugin) => plugin.mutate);
  const validating = plugins.filter((plugin) => plugin.validate);
  const base = { what: "admission plugin", meaning, waits };
  const mutate: AdmissionChain = {
    ...base,
    ask: (plugin, request) => (plugin.appliesTo(request) ? plugin.mutate?.(request) : undefined),
  };
  const validate: AdmissionChain = {
    ...base,
    ask: (plugin, request) => (plugin.appliesTo(request) ? plugin.validate?.(request) : undefined),
  };
  const askers = plugins.flatMap(({ again }) => again ?? []);
  return {
    mutate(request) {
      const first = runChain(mutate, mutating, request);
      // A plugin that changes the object without waiting never asks for a second round.
      if (askers.length === 0 || !(first instanceof Promise)) return first;
      return first.then(() => {
        if (!askers.some((asker) => asker.isNeeded(request))) return undefined;
        for (const asker of askers) asker.start(request);
        return runChain(mutate, mutating, request);
      });
    },
    validate: (request) => runChain(validate, validating, request),
  };
}

/** A refusal remembers which plugin it came from, unless it knows better. */
function meaning(error: unknown, _: AdmissionRequest, { name }: AdmissionPlugin): "refusal" | "fault" {
  if (error instanceof StatusError) because(error, { by: `plugin ${name}` });
  return refusalOrFault(error);
}
