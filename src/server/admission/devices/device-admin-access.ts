import { Namespace } from "#api/core/namespace.ts";
import { type ResourceClaimSpec } from "#api/devices/claim-spec.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/devices/resource-claim-template.ts";
import { invalid } from "#api/status.ts";
import { adminAccessLabel } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { type Informers } from "#runtime/informer.ts";
import { type FieldPath, forbiddenValue, root } from "#schema/field-error.ts";
import { isAbout, objectOf, oldObjectOf } from "#server/admission/object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "#server/admission/plugin.ts";

export interface DeviceAdminAccessDeps {
  readonly informers: Informers;
  /** Reads the labels from the server: a cache may not know yet that a label is gone. */
  readonly client?: Pick<Client, "get">;
}

/** Only claims in namespaces with a label can ask for devices that others use, to administer them. */
export function deviceAdminAccess({ informers, client }: DeviceAdminAccessDeps): AdmissionPlugin {
  const namespaces = informers.of(Namespace);
  const namespaceOf = async ({ namespace: name, signal }: AdmissionRequest): Promise<Namespace | undefined> =>
    client ? await client.get(Namespace, { name }, { signal }) : namespaces.get({ name });
  return {
    name: "DeviceAdminAccess",
    runs: "always",
    appliesTo: (request) => isAbout(ResourceClaim, request) || isAbout(ResourceClaimTemplate, request),

    async validate(request) {
      const path = placeOfAdminAccess(request);
      if (!path) return;
      const { labels } = (await namespaceOf(request))?.metadata ?? {};
      if (labels?.[adminAccessLabel] === "true") return;
      const why = `admin access to devices requires the \`${adminAccessLabel}: true\` label on the containing namespace`;
      throw invalid(request.resource, request.name, [forbiddenValue(path, why)]);
    },
  };
}

/** Where the request asks for admin access that the object did not have; undefined if nowhere. */
function placeOfAdminAccess(request: AdmissionRequest): FieldPath | undefined {
  if (request.operation === "CREATE") {
    const spec = objectOf(ResourceClaim, request)?.spec ?? objectOf(ResourceClaimTemplate, request)?.spec.spec;
    return spec && placeInSpec(spec);
  }
  if (request.subresource !== "status" || placeInStatus(oldObjectOf(ResourceClaim, request))) return undefined;
  return placeInStatus(objectOf(ResourceClaim, request));
}

/** Upstream gives this path for templates too, and for requests under `exactly`. */
function placeInSpec({ devices: { requests = [] } }: ResourceClaimSpec): FieldPath | undefined {
  const index = requests.findIndex(({ exactly }) => exactly?.adminAccess);
  return index < 0 ? undefined : root.child("spec", "devices", "requests").index(index).child("adminAccess");
}

function placeInStatus(claim: ResourceClaim | undefined): FieldPath | undefined {
  const { results = [] } = claim?.status.allocation?.devices ?? {};
  const index = results.findIndex(({ adminAccess }) => adminAccess);
  if (index < 0) return undefined;
  return root.child("status", "allocation", "devices", "results").index(index).child("adminAccess");
}
