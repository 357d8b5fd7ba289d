import { type ApiObject, apiVersionOf, type Resource } from "./resource.ts";

/** Where an object is. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** The ones made here: nothing that reads fields of an object may be asked about them. */
const made = new WeakSet<object>();

/** Stands in lists for an object that is stored but cannot be decrypted: only its place is known. */
export function unreadableObject(resource: Resource, { namespace, name }: Place): ApiObject {
  const metadata = { name, ...(namespace ? { namespace } : {}) };
  const object = { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata } as ApiObject;
  made.add(object);
  return object;
}

export const isUnreadable = (object: object): boolean => made.has(object);
