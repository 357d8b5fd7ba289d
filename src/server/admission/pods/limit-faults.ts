import { type ResourceList } from "#api/core/container/resource-list.ts";
import { compareQuantities, isZeroQuantity, quantityMilliValue } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";

/** What a container, a pod or a claim requests, and what it may not exceed. */
export interface Usage {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
  /** A claim has no limits, so a maximum is compared with what it requests. */
  readonly hasNoLimits?: boolean;
}

export const requestsOnly = (requests: ResourceList = {}): Usage => ({ requests, hasNoLimits: true });

/** One limit of a namespace. */
export interface Bound {
  /** What it is for: `Container`. */
  readonly type: string;
  /** The name of the resource. */
  readonly name: string;
  readonly bound: string;
}

/** What is wrong with a usage, in upstream's words. */
type Fault = string | undefined;

export function tooSmall({ type, name, bound }: Bound, { requests, limits }: Usage): Fault {
  const [request, limit] = [own(requests ?? {}, name), own(limits ?? {}, name)];
  const text = `minimum ${name} usage per ${type} is ${bound}`;
  if (request === undefined) return `${text}. No request is specified`;
  if (compareQuantities(request, bound) < 0) return `${text}, but request is ${request}`;
  return limit !== undefined && compareQuantities(limit, bound) < 0 ? `${text}, but limit is ${limit}` : undefined;
}

export function tooLarge({ type, name, bound }: Bound, { requests, limits, hasNoLimits }: Usage): Fault {
  const [request, limit] = [own(requests ?? {}, name), own(limits ?? {}, name)];
  const text = `maximum ${name} usage per ${type} is ${bound}`;
  if (hasNoLimits && request === undefined) return `${text}. No request is specified`;
  if (!hasNoLimits && limit === undefined) return `${text}. No limit is specified`;
  if (limit !== undefined && compareQuantities(limit, bound) > 0) return `${text}, but limit is ${limit}`;
  return request !== undefined && compareQuantities(request, bound) > 0
    ? `${text}, but request is ${request}`
    : undefined;
}

export function ratioFault({ type, name, bound }: Bound, { requests, limits }: Usage): Fault {
  const [request, limit] = [own(requests ?? {}, name), own(limits ?? {}, name)];
  const text = `${name} max limit to request ratio per ${type} is ${bound}`;
  if (request === undefined || isZeroQuantity(request)) return `${text}, but no request is specified or request is 0`;
  if (limit === undefined || isZeroQuantity(limit)) return `${text}, but no limit is specified or limit is 0`;
  const ratio = quantityMilliValue(limit) / quantityMilliValue(request);
  return ratio * 1000 > quantityMilliValue(bound) ? `${text}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
}
