import { allResources } from "#api/all.ts";
import { apiVersionOf } from "#api/resource.ts";

let known: ReadonlySet<string> | undefined;

/** Whether the server has a built-in kind of this name and version. Only asked when a body has the wrong one. */
export function isBuiltInKind(apiVersion: string, kind: string): boolean {
  known ??= new Set(
    allResources.flatMap((one) => [one.kind, one.listKind].map((name) => keyOf(apiVersionOf(one), name))),
  );
  return kind === "Status" || kind.endsWith("Options") || known.has(keyOf(apiVersion, kind));
}

const keyOf = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`;
