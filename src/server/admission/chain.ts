import { type AdmissionPlugin, type AdmissionRequest } from "./plugin.ts";

/** What stands between a decoded object and the store. */
export interface Admission {
  /** Runs before validation; plugins see what those before them changed. */
  mutate(request: AdmissionRequest): void | Promise<void>;
  /** Runs on the object as it will be written. */
  validate(request: AdmissionRequest): void | Promise<void>;
}

/** Asks the plugins in order; the first refusal ends it. No promise is made unless a plugin makes one. */
export function createAdmission(plugins: readonly AdmissionPlugin[]): Admission {
  const mutating = plugins.filter((plugin) => plugin.mutate);
  const validating = plugins.filter((plugin) => plugin.validate);
  return {
    mutate: (request) => runFrom(mutating, request, { phase: "mutate", start: 0 }),
    validate: (request) => runFrom(validating, request, { phase: "validate", start: 0 }),
  };
}

function runFrom(
  plugins: readonly AdmissionPlugin[],
  request: AdmissionRequest,
  { phase, start }: { phase: "mutate" | "validate"; start: number },
): void | Promise<void> {
  for (let index = start; index < plugins.length; index++) {
    const plugin = plugins[index];
    if (!plugin?.appliesTo(request)) continue;
    const pending = plugin[phase]?.(request);
    if (pending) return pending.then(() => runFrom(plugins, request, { phase, start: index + 1 }));
  }
}
