import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { TokenReview } from "#api/authentication/token-review.ts";
import { SubjectAccessReview } from "#api/authorization/subject-access-review.ts";
import { StatusError, unauthorized } from "#api/status.ts";
import { verbOfMethod } from "#api/verb.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#lib/async/clock.ts";
import { notAfterMs, readSubject } from "#lib/crypto/x509.ts";

/** Throws a StatusError if the client may not make this request. */
export type Access = (request: IncomingMessage, route: string) => void | Promise<void>;

/** The API server's name in its client certificate for kubelets. */
export const apiServerName = "kube-apiserver-kubelet-client";

/**
 * The API server and administrators may do everything, by their certificates. Others, such as a metrics server, send a
 * token, and the API server decides who they are and what they may do.
 */
export function nodeAccess(nodeName: string, clock: Clock, client?: Client): Access {
  const reviewed = new Map<string, number>();
  return async (request, route) => {
    const owner = certificateOwner(request, clock);
    if (owner && (owner.commonName === apiServerName || owner.organizations.includes("system:masters"))) return;
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (!client || (!token && !owner)) throw unauthorized();
    const { verb, subresources } = attributesOf(request.method ?? "GET", route);
    // A token is any text, and must not look like somebody's certificate here.
    const key = JSON.stringify([verb, subresources, token ? { token } : { owner }]);
    if ((reviewed.get(key) ?? 0) > clock.now()) return;
    const user = token ? await userOf(client, token) : userOfCertificate(owner);
    await review(client, user, { verb, subresources, nodeName });
    if (reviewed.size >= maxReviewed) reviewed.clear();
    reviewed.set(key, clock.now() + reviewedForMs);
  };
}

const reviewedForMs = 60_000;
const maxReviewed = 1000;

type Owner = ReturnType<typeof readSubject>;

/** Whom the certificate of the connection names, if the cluster has signed it. */
function certificateOwner({ socket }: IncomingMessage, clock: Clock): Owner | undefined {
  const certificate = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  // It was valid when the connection began, which may be long ago.
  return certificate && notAfterMs(certificate) > clock.now() ? readSubject(certificate) : undefined;
}

interface User {
  readonly user: string;
  readonly uid: string;
  readonly groups: string[];
  readonly extra: Record<string, string[]>;
}

const userOfCertificate = (owner: Owner | undefined): User => ({
  user: owner?.commonName ?? "",
  uid: "",
  groups: [...(owner?.organizations ?? []), "system:authenticated"],
  extra: {},
});

async function userOf(client: Client, token: string): Promise<User> {
  const { status } = await client.create(TokenReview, { metadata: {}, spec: { token } });
  if (!status.authenticated) throw unauthorized();
  const { username: user = "", uid = "", groups = [], extra = {} } = status.user;
  return { user, uid, groups, extra };
}

interface Attributes {
  readonly verb: string;
  /** One of them is enough. */
  readonly subresources: readonly string[];
  readonly nodeName: string;
}

async function review(client: Client, user: User, { verb, subresources, nodeName: name }: Attributes): Promise<void> {
  for (const subresource of subresources) {
    const resourceAttributes = { verb, resource: "nodes", subresource, group: "", name };
    const answer = await client.create(SubjectAccessReview, { metadata: {}, spec: { ...user, resourceAttributes } });
    if (answer.status.allowed) return;
  }
  const which = `verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(" ")}]`;
  throw new StatusError("Forbidden", `Forbidden (user=${user.user}, ${which})`);
}

/** Upstream's subresources of a node for the paths of a kubelet's server. */
const subresources: Readonly<Record<string, readonly string[]>> = {
  stats: ["stats"],
  metrics: ["metrics"],
  logs: ["log"],
  checkpoint: ["checkpoint"],
  healthz: ["healthz", "proxy"],
  pods: ["pods", "proxy"],
  runningpods: ["pods", "proxy"],
  configz: ["configz", "proxy"],
};

const attributesOf = (method: string, route: string) => ({
  verb: verbOfMethod(method) ?? "get",
  subresources: (Object.hasOwn(subresources, route) ? subresources[route] : undefined) ?? ["proxy"],
});
