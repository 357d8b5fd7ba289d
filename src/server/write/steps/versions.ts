import { ConversionError } from "#api/conversion.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Versions } from "#server/apply/fields/managed-fields.ts";
import { type InVersion, type ResourceRegistry } from "#server/registry.ts";

/** More than any object with honest managers needs. */
const maxConversions = 100;

/** A conversion that the work needs and that is not known yet. */
class Needed extends Error {
  override readonly name = "Needed";
  readonly key: string;
  readonly result: Promise<InVersion | undefined>;

  constructor(key: string, result: Promise<InVersion | undefined>) {
    super("a conversion is needed");
    this.key = key;
    this.result = result;
  }
}

interface Converting {
  readonly resources: ResourceRegistry;
  readonly resource: Resource;
  /** A version that a webhook cannot provide now counts as one that is not served. Otherwise the work fails. */
  readonly ignoresFaults?: boolean;
}

/**
 * Does work that converts objects between the versions of their kind, and must be repeatable. If a webhook converts
 * them, the work stops wherever it needs a conversion, and starts again with the result. So only kinds with such a
 * webhook pay for it, and the work itself need not know.
 */
export function withVersions<R>(
  { resources, resource, ignoresFaults }: Converting,
  work: (versions: Versions) => R | Promise<R>,
): R | Promise<R> {
  const convert = (object: ApiObject, apiVersion: string) => resources.convert(resource, object, apiVersion);
  if (!resource.conversion) return work({ convert: convert as Versions["convert"] });
  const known = new Map<string, InVersion | undefined>();
  const versions: Versions = {
    convert(object, apiVersion) {
      const key = `${apiVersion} ${JSON.stringify(object)}`;
      if (known.has(key)) return known.get(key);
      const found = convert(object, apiVersion);
      if (found instanceof Promise) throw new Needed(key, found);
      return found;
    },
  };
  return repeat(versions, { known, ignoresFaults, work });
}

interface Repeated<R> {
  readonly known: Map<string, InVersion | undefined>;
  readonly ignoresFaults: boolean | undefined;
  work(versions: Versions): R | Promise<R>;
}

async function repeat<R>(versions: Versions, { known, ignoresFaults, work }: Repeated<R>): Promise<R> {
  for (;;) {
    try {
      return await work(versions);
    } catch (error) {
      if (!(error instanceof Needed)) throw error;
      if (known.size >= maxConversions) {
        void error.result.catch(() => {});
        throw new ConversionError(`more than ${maxConversions} conversions are needed for one object`);
      }
      known.set(error.key, await error.result.catch((fault: unknown) => orIgnored(fault, ignoresFaults)));
    }
  }
}

function orIgnored(fault: unknown, ignoresFaults: boolean | undefined): undefined {
  if (!ignoresFaults || !(fault instanceof ConversionError)) throw fault;
}
