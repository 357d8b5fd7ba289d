import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject } from "#api/resource.ts";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { type Write } from "../write.ts";

/** Removes duplicate owners. */
export function dropDuplicateOwners({ context }: Pick<Write, "context">, { metadata }: ApiObject): void {
  const owners = metadata.ownerReferences;
  if (!owners || owners.length < 2) return;
  const texts = owners.map(ownerText);
  // Validation refuses these.
  if (texts.some((text) => text.length > maxKeyChars)) return;
  const byText = new Map(owners.map((owner, index) => [texts[index], owner] as const).reverse());
  if (byText.size === owners.length) return;
  const kept = new Set(byText.values());
  const uids = new Set(owners.filter((owner) => !kept.has(owner)).map(({ uid }) => uid));
  metadata.ownerReferences = owners.filter((owner) => kept.has(owner));
  context.warnings.push(
    `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...uids].join(", ")}`,
  );
}

const ownerText = ({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): string =>
  JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
