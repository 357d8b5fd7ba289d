import { type ApiObject } from "../resource.ts";
import { type ObjectMeta } from "./object-meta.ts";

/** Takes these fields of the metadata from the old object. */
export function keepMetadata(metadata: ObjectMeta, old: ObjectMeta, ...names: (keyof ObjectMeta)[]): void {
  for (const name of names) {
    if (old[name] === undefined) delete metadata[name];
    else Object.assign(metadata, { [name]: old[name] });
  }
}

/** For kinds whose metadata cannot be changed through the status. */
export function keepMetadataOfStatus({ metadata }: ApiObject, { metadata: old }: ApiObject): void {
  keepMetadata(metadata, old, "deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences");
}
