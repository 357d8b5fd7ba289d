import { type ApiObject } from "#api/resource.ts";
import { isAlreadyExists, StatusError } from "#api/status.ts";
import { type Random, randomSuffix } from "#lib/data/random.ts";

/**
 * Generates the name of an object that has only a prefix. Returns the prefix, or "" if there is nothing to generate.
 */
export function generateName({ metadata }: ApiObject, random: Random): string {
  const prefix = metadata.name ? "" : (metadata.generateName ?? "");
  if (prefix) metadata.name = nameFrom(prefix, random);
  return prefix;
}

const maxNames = 8;

/** Creates the object under another generated name while the name is taken, and gives up after a few. */
export async function retryName<R>(
  { metadata }: ApiObject,
  { prefix, random }: { readonly prefix: string; readonly random: Random },
  create: () => Promise<R>,
): Promise<R> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await create();
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      if (attempt === maxNames) throw noUniqueName(error);
    }
    delete metadata.uid;
    metadata.name = nameFrom(prefix, random);
  }
}

/** A generated name is short enough for a label, whatever the kind, including the suffix. */
const nameFrom = (prefix: string, random: Random): string => prefix.slice(0, 63 - 5) + randomSuffix(random);

const noUniqueName = ({ message, details }: StatusError): StatusError =>
  new StatusError("AlreadyExists", `${message}, the server was not able to generate a unique name for the object`, {
    ...details,
    retryAfterSeconds: 1,
  });
