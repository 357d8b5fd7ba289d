import { randomUUID } from "node:crypto";
import { type BoundObjectReference, TokenRequest } from "#api/authentication/token-request.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type ApiObject } from "#api/resource.ts";
import { reviewFaults } from "#api/rules.ts";
import { badRequest, conflict, invalid, notFound } from "#api/status.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { type JwtPart, jsonWebKeys, type SigningKey, signJwt, type VerifyingKey } from "#lib/crypto/jwt.ts";
import { type Informers } from "#runtime/informer.ts";
import { invalidValue, root } from "#schema/field-error.ts";
import { serviceAccountName } from "#server/authenticate/service-account-claims.ts";
import { checkNamespace } from "#server/write/steps/identity.ts";

export interface TokenIssuer {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly issuer: string;
  /** The audiences of the API server, which are also the default of tokens. */
  readonly audiences: readonly string[];
  readonly key: SigningKey;
  /** Longer lifetimes are shortened, with a warning. */
  readonly maxExpirationSeconds?: number;
  /** If false, the kubelet's tokens live only as long as asked for. */
  readonly extendsExpiration?: boolean;
}

export interface TokenCall {
  readonly namespace: string;
  /** The name of the service account. */
  readonly name: string;
  readonly request: TokenRequest;
  warn(message: string): void;
}

/** The kubelet's request: such tokens live longer than requested, for programs that never reload them. */
const kubeletSeconds = 3607;
const extendedSeconds = 365 * 24 * 3600;

/** Issues a token for a service account: POST to its `token` subresource. */
export function requestToken(deps: TokenIssuer, call: TokenCall): TokenRequest {
  const { namespace, name } = call;
  checkMetadata(call);
  const account = deps.informers.of(ServiceAccount).get({ namespace, name });
  if (!account) throw notFound(ServiceAccount, name);
  const request = fillIn(deps, call.request, account);
  const faults = reviewFaults(TokenRequest, request);
  if (faults.length > 0) throw invalid(TokenRequest, "", faults);

  const bound = findBound(deps, call, request.spec.boundObjectRef);
  const seconds = shortened(deps, call, request.spec.expirationSeconds);
  const spec = { ...request.spec, expirationSeconds: seconds };
  const now = deps.clock.now();
  const token = signJwt(deps.key, claimsOf({ ...deps, now }, { account, bound, spec }));
  return { ...request, spec, status: { token, expirationTimestamp: timestamp(now + seconds * 1000) } };
}

function checkMetadata({ namespace, name, request: { metadata } }: TokenCall): void {
  if (metadata.name && metadata.name !== name) {
    const detail = "must match the service account name if specified";
    throw invalid(TokenRequest, name, [invalidValue(root.child("metadata", "name"), metadata.name, detail)]);
  }
  checkNamespace(metadata.namespace, namespace);
}

function fillIn({ audiences, clock }: TokenIssuer, request: TokenRequest, account: ServiceAccount): TokenRequest {
  const { name, namespace, uid } = account.metadata;
  const asked = request.metadata.uid;
  if (asked && asked !== uid) {
    const why = `the UID in the token request (${asked}) does not match the UID of the service account (${uid})`;
    throw conflict({ ...TokenRequest, plural: TokenRequest.kind }, name, why);
  }
  const spec = request.spec.audiences?.length ? request.spec : { ...request.spec, audiences: [...audiences] };
  const metadata = { ...request.metadata, name, namespace, uid, creationTimestamp: timestamp(clock.now()) };
  return { ...request, metadata, spec };
}

interface Bound {
  readonly pod?: ApiObject;
  readonly secret?: ApiObject;
  readonly node?: ApiObject;
}

function findBound(
  { informers }: TokenIssuer,
  { namespace, name }: TokenCall,
  ref: BoundObjectReference | undefined,
): Bound {
  if (!ref) return {};
  const { kind = "", apiVersion = "", name: boundName = "" } = ref;
  const isCore = !apiVersion.includes("/");
  if (isCore && kind === "Pod") {
    const pod = informers.of(Pod).get({ namespace, name: boundName });
    if (!pod) throw notFound(Pod, boundName);
    if (pod.spec.serviceAccountName !== name) {
      throw badRequest(
        `cannot bind token for serviceaccount ${JSON.stringify(name)} to pod running with different serviceaccount name.`,
      );
    }
    return { pod: checkUid(pod, ref), ...nodeOfPod(informers, pod) };
  }
  if (isCore && kind === "Node") {
    const node = informers.of(Node).get({ name: boundName });
    if (!node) throw notFound(Node, boundName);
    return { node: checkUid(node, ref) };
  }
  if (isCore && kind === "Secret") {
    const secret = informers.of(Secret).get({ namespace, name: boundName });
    if (!secret) throw notFound(Secret, boundName);
    return { secret: checkUid(secret, ref) };
  }
  throw badRequest(`cannot bind token to object of type ${goKind(apiVersion, kind)}`);
}

/** A missing node is still named, without a uid. */
function nodeOfPod(informers: Informers, { spec: { nodeName } }: Pod): Bound {
  if (!nodeName) return {};
  return { node: informers.of(Node).get({ name: nodeName }) ?? { metadata: { name: nodeName } } };
}

function checkUid<T extends ApiObject>(object: T, { uid, name = "", kind = "" }: BoundObjectReference): T {
  if (!uid || uid === object.metadata.uid) return object;
  const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  throw conflict({ group: "", plural: kind, kind }, name, why);
}

function goKind(apiVersion: string, kind: string): string {
  const [group = "", version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return `${group}/${version}, Kind=${kind}`;
}

function shortened({ maxExpirationSeconds: most = 0 }: TokenIssuer, { warn }: TokenCall, asked: number): number {
  if (most <= 0 || asked <= most) return asked;
  warn(`requested expiration of ${asked} seconds shortened to ${most} seconds`);
  return most;
}

interface ClaimFacts {
  readonly account: ServiceAccount;
  readonly bound: Bound;
  readonly spec: TokenRequest["spec"];
}

function claimsOf(deps: TokenIssuer & { readonly now: number }, { account, bound, spec }: ClaimFacts): JwtPart {
  const { namespace, name } = account.metadata;
  const seconds = Math.floor(deps.now / 1000);
  const isForServer = spec.audiences.every((audience) => deps.audiences.includes(audience));
  const { extendsExpiration = true } = deps;
  const isForKubelet = bound.pod !== undefined && spec.expirationSeconds === kubeletSeconds;
  const isExtended = extendsExpiration && isForKubelet && isForServer;
  const lifetime = isExtended ? extendedSeconds : spec.expirationSeconds;
  const { pod, secret, node } = bound;
  return {
    aud: spec.audiences,
    exp: seconds + lifetime,
    iat: seconds,
    iss: deps.issuer,
    jti: randomUUID(),
    "kubernetes.io": {
      namespace,
      ...(node ? { node: claimOf(node) } : {}),
      ...(pod ? { pod: claimOf(pod) } : {}),
      ...(secret ? { secret: claimOf(secret) } : {}),
      serviceaccount: claimOf(account),
      ...(isExtended ? { warnafter: seconds + spec.expirationSeconds } : {}),
    },
    nbf: seconds,
    sub: serviceAccountName(namespace, name),
  };
}

const claimOf = ({ metadata: { name, uid } }: ApiObject) => ({ name, ...(uid ? { uid } : {}) });

/** `/.well-known/openid-configuration` */
export const openIdConfiguration = (issuer: string, jwksUri: string, keys: readonly VerifyingKey[]) => ({
  issuer,
  jwks_uri: jwksUri,
  response_types_supported: ["id_token"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: [...new Set(keys.map(({ algorithm }) => algorithm))].sort(),
});

/** `/openid/v1/jwks` */
export const openIdKeys = (keys: readonly VerifyingKey[]) => jsonWebKeys(keys);
