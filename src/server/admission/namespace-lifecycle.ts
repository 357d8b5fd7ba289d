import { Namespace } from "#api/core/namespace.ts";
import { isNotFound, notFound, StatusError } from "#api/status.ts";
import { nodeLeaseNamespace } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { type Informers } from "#runtime/informer.ts";
import { findNamespace } from "./find-namespace.ts";
import { isAbout } from "./object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest, type WriteType } from "./plugin.ts";
import { refusal } from "./refuse.ts";

const immortal = new Set(["default", "kube-system", "kube-public", nodeLeaseNamespace]);

export interface NamespaceLifecycleDeps {
  readonly informers: Informers;
  readonly client?: Pick<Client, "get">;
}

/** Refuses objects in missing namespaces and new ones in terminating namespaces, and protects system namespaces. */
export function namespaceLifecycle({ informers, client }: NamespaceLifecycleDeps): AdmissionPlugin {
  const namespaces = informers.of(Namespace);
  const check = (request: AdmissionRequest): void | Promise<void> => {
    if (request.namespace === "" || isAbout(Namespace, request)) return;
    const found = findNamespace({ namespaces, client }, request);
    if (!found) throw notFound(Namespace, request.namespace);
    return found instanceof Promise
      ? found.then(
          (namespace) => checkPhase(request, namespace),
          (error: unknown) => {
            throw isNotFound(error) ? notFound(Namespace, request.namespace) : error;
          },
        )
      : checkPhase(request, found);
  };
  return {
    name: "NamespaceLifecycle",
    appliesTo: (request) =>
      request.operation === "DELETE"
        ? isAbout(Namespace, request)
        : request.operation !== "CONNECT" && !isAccessReview(request),
    mutate: check,
    validate(request) {
      if (request.operation !== "DELETE") return check(request);
      if (immortal.has(request.name)) throw refusal(request, "this namespace may not be deleted");
    },
  };
}

function checkPhase(request: AdmissionRequest, { status }: Namespace): void {
  if (request.operation !== "CREATE" || status?.phase !== "Terminating") return;
  const { namespace } = request;
  const { message, details } = refusal(
    request,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  );
  const cause = {
    reason: "NamespaceTerminating",
    message: `namespace ${namespace} is being terminated`,
    field: "metadata.namespace",
  };
  throw new StatusError("Forbidden", message, { ...details, causes: [cause] });
}

/** The response must not reveal whether the namespace exists. */
const isAccessReview = (request: WriteType): boolean =>
  isAbout({ group: "authorization.k8s.io", plural: "localsubjectaccessreviews" }, request);
