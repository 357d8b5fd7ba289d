import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { isAlreadyExists, isConflict, isNotFound } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { type Client } from "./client.ts";

export interface Ensured<T extends ApiObject> {
  readonly namespace: string;
  readonly name: string;
  /** The object to create if there is none. */
  readonly object: InputOf<T>;
  /** Returns what the existing object must become. */
  update(current: T): InputOf<T>;
}

const maxAttempts = 10;

/** Creates the object, or updates the existing one; others may write it concurrently. */
export async function ensureObject<T extends ApiObject>(
  client: Client,
  resource: Resource<T>,
  { namespace, name, object, update }: Ensured<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      const current = await client.get(resource, { namespace, name });
      const wanted = update(current);
      return equal(wanted, current) ? current : await client.update(resource, wanted);
    } catch (error) {
      if (attempt === maxAttempts || !(isNotFound(error) || isConflict(error))) throw error;
      if (isConflict(error)) continue;
    }
    try {
      return await client.create(resource, object);
    } catch (error) {
      if (attempt === maxAttempts || !isAlreadyExists(error)) throw error;
    }
  }
}
