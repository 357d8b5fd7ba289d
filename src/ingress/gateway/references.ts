import { type ObjectRef, type ReferenceGrant } from "./kinds.ts";

export interface Reference {
  readonly from: { readonly group: string; readonly kind: string; readonly namespace: string };
  readonly to: ObjectRef;
}

/** Whether an object may refer to another: in its own namespace always, elsewhere only with a grant there. */
export function isPermitted(
  { from, to }: Reference,
  grantsIn: (namespace: string) => readonly ReferenceGrant[],
): boolean {
  const namespace = to.namespace ?? from.namespace;
  if (namespace === from.namespace) return true;
  return grantsIn(namespace).some(
    ({ spec }) =>
      spec.from.some((one) => one.group === from.group && one.kind === from.kind && one.namespace === from.namespace) &&
      spec.to.some(
        (one) =>
          one.group === (to.group ?? "") &&
          one.kind === to.kind &&
          (one.name === undefined || one.name === "" || one.name === to.name),
      ),
  );
}
