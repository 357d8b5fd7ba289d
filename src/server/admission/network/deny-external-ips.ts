import { Service } from "#api/core/service.ts";
import { isWriteOf, objectOf, oldObjectOf } from "../object-of.ts";
import { type AdmissionPlugin } from "../plugin.ts";
import { refusal } from "../refuse.ts";

/** Refuses new external addresses of services, with which a user could take over the traffic to any address. */
export const denyExternalIPs: AdmissionPlugin = {
  name: "DenyServiceExternalIPs",
  runs: "asked",
  appliesTo: (request) => isWriteOf(Service, request),

  validate(request) {
    const wanted = objectOf(Service, request)?.spec.externalIPs ?? [];
    const known = new Set(oldObjectOf(Service, request)?.spec.externalIPs);
    if (wanted.every((address) => known.has(address))) return;
    throw refusal(request, "Use of external IPs is denied by admission control");
  },
};
