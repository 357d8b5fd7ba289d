import type { Service } from "#api/core/service.ts";

/** The services of the pod's namespace, and the API server's own. */
export function servicesFor(
  services: { list(namespace?: string): Service[]; get(ref: { namespace: string; name: string }): Service | undefined },
  namespace: string,
): Service[] {
  const api = services.get({ namespace: "default", name: "kubernetes" });
  return api && namespace !== "default" ? [...services.list(namespace), api] : services.list(namespace);
}
