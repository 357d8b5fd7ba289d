import { type UserInfo } from "#api/exchange.ts";
import { type Writer } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";
import {
  type CertificateSigningRequestSpec,
  type CertificateSigningRequestCondition as Condition,
  type SigningRequest,
} from "./certificate-signing-request.ts";

/** Whoever makes a request makes it in their own name, whatever they sent. */
export function setRequester(request: SigningRequest, writer?: Writer): void {
  const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...asked } = request.spec;
  request.spec = writer ? { ...asked, ...identityOf(writer.user) } : asked;
}

type Identity = Pick<CertificateSigningRequestSpec, "username" | "uid" | "groups" | "extra">;

function identityOf({ name, uid, groups, extra = {} }: UserInfo): Identity {
  const identity: Identity = { username: name };
  if (uid) identity.uid = uid;
  if (groups.length > 0) identity.groups = [...groups];
  const facts = Object.entries(extra).map(([key, values]): [string, string[]] => [key, [...values]]);
  if (facts.length > 0) identity.extra = Object.fromEntries(facts);
  return identity;
}

/** An approval changes only the conditions. */
export function prepareApproval(request: SigningRequest, old: SigningRequest, writer?: Writer): void {
  const { conditions } = request.status;
  const { conditions: _, ...status } = old.status;
  request.spec = old.spec;
  request.status = conditions ? { ...status, conditions } : status;
  setTimes(conditions, old, writer);
}

/** A signer cannot change the decision about a request. If it adds or removes one, it is refused. */
export function prepareSigning(request: SigningRequest, old: SigningRequest, writer?: Writer): void {
  const { conditions = [] } = request.status;
  for (const type of ["Approved", "Denied"]) {
    const before = (old.status.conditions ?? []).filter((condition) => condition.type === type);
    const places = conditions.flatMap((condition, index) => (condition.type === type ? [index] : []));
    if (before.length !== places.length) continue;
    before.forEach((condition, index) => {
      conditions[places[index] ?? 0] = { ...condition };
    });
  }
  setTimes(conditions, old, writer);
}

/** Fills in the times that the client left out. A condition whose status is as before keeps its time. */
function setTimes(conditions: Condition[] | undefined, old: SigningRequest, writer: Writer | undefined): void {
  if (!conditions || !writer) return;
  const now = timestamp(writer.now);
  const before = new Map<string, string>();
  for (const condition of old.status.conditions ?? []) {
    const key = keyOf(condition);
    if (condition.lastTransitionTime && !before.has(key)) before.set(key, condition.lastTransitionTime);
  }
  for (const condition of conditions) {
    condition.lastUpdateTime ??= now;
    condition.lastTransitionTime ??= before.get(keyOf(condition)) ?? now;
  }
}

const keyOf = ({ type, status }: Condition): string => JSON.stringify([type, status]);
