import { type Resource } from "#api/resource.ts";
import { kindOf, type SentRequest } from "./sent-request.ts";

/**
 * What webhooks and expressions are told about a request, besides its objects. `request` is in the version that matched,
 * `sent` in the one that the caller used. Members without a value are left out, as upstream does.
 */
export function describeRequest(request: SentRequest, sent: SentRequest) {
  const { subresource, name, namespace, operation, user, dryRun, options } = request;
  return {
    kind: kindOf(request),
    resource: resourceOf(request.resource),
    ...(subresource ? { subResource: subresource } : {}),
    requestKind: kindOf(sent),
    requestResource: resourceOf(sent.resource),
    ...(subresource ? { requestSubResource: subresource } : {}),
    ...(name ? { name } : {}),
    ...(namespace ? { namespace } : {}),
    operation,
    userInfo: {
      username: user.name,
      ...(user.uid ? { uid: user.uid } : {}),
      ...(user.groups.length > 0 ? { groups: user.groups } : {}),
      ...(user.extra && Object.keys(user.extra).length > 0 ? { extra: user.extra } : {}),
    },
    dryRun,
    ...(options ? { options } : {}),
  };
}

const resourceOf = ({ group, version, plural }: Resource) => ({ group, version, resource: plural });
