import { type Cursor } from "../cursor.ts";
import { type ApiObject } from "../resource.ts";

const suffix = ".static.k8s.io";

/** Upstream keeps these names for objects that a server reads from files. */
export function warnOfReservedName(at: Cursor<ApiObject>): void {
  if (!at.value.metadata.name?.endsWith(suffix)) return;
  const text = `names ending with "${suffix}" are reserved for static manifest-based configurations and cannot be managed via the API`;
  at.under("metadata", "name").warn(text);
}
