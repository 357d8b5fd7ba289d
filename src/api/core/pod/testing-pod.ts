import { type InputOf } from "#api/resource.ts";
import { reviewFaults } from "#api/rules.ts";
import { type FieldError } from "#schema/field-error.ts";
import { decode } from "#schema/json/decode.ts";
import { Pod } from "../pod.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A sound pod with one container, with the given parts in place of its own. */
export function aPod(spec: Fields = {}, container: Fields = {}, metadata: Fields = {}): Pod {
  const raw = {
    metadata: { name: "web", namespace: "default", ...metadata },
    spec: { serviceAccountName: "default", containers: [{ name: "web", image: "nginx:1", ...container }], ...spec },
  } satisfies InputOf<Pod>;
  return decode(Pod.schema, raw, { defaults: true }).value;
}

/** What is wrong with a pod, as lines. */
export const faultsOf = (pod: Pod): string[] => lines(reviewFaults(Pod, pod));

export const lines = (faults: Iterable<FieldError>): string[] =>
  [...faults].map(({ path, message }) => (path ? `${path}: ${message}` : message));

/** A pod with something wrong, and what is said about it. */
export interface PodCase {
  readonly name: string;
  readonly spec?: Fields;
  readonly container?: Fields;
  readonly metadata?: Fields;
  readonly faults: readonly string[];
}

export const dnsLabelFault =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
