import type { Endpoint } from "../dispatch.ts";
import type { StreamDeps } from "./deps.ts";

const names = [
  "pods/log",
  "pods/exec",
  "pods/attach",
  "pods/portforward",
  "pods/proxy",
  "services/proxy",
  "nodes/proxy",
] as const;

/** Every subresource that a node or a pod serves. The code is loaded for the first request. */
export function lazyStreamEndpoints(deps: StreamDeps): ReadonlyMap<string, Endpoint> {
  let loaded: Promise<ReadonlyMap<string, Endpoint>> | undefined;
  const load = async () => (await import("./all.ts")).streamEndpoints(deps);
  const endpointOf =
    (name: string): Endpoint =>
    async (context, resource) => {
      loaded ??= load();
      const endpoint = (await loaded).get(name);
      if (!endpoint) throw new Error(`no endpoint for ${name}`);
      return await endpoint(context, resource);
    };
  return new Map(names.map((name) => [name, endpointOf(name)]));
}
