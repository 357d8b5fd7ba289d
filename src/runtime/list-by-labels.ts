import { type Requirement } from "#api/meta/label-selector.ts";
import { type ApiObject } from "#api/resource.ts";
import { type Informer } from "./informer.ts";

const indexName = "label";
/** Neither a namespace nor the name of a label can contain an equals sign. */
const labelKey = (namespace: string, name: string, value: string): string => `${namespace}=${name}=${value}`;
const labelKeys = ({ metadata: { namespace = "", labels = {} } }: ApiObject): string[] =>
  Object.entries(labels).map(([name, value]) => labelKey(namespace, name, value));

const equalities: ReadonlySet<string> = new Set(["=", "==", "in"]);

/** Whether one value of the label satisfies the requirement, and no other. */
export const demandsValue = ({ operator, values }: Requirement): boolean =>
  equalities.has(operator) && values.length === 1;

/** More labels of a selector would seldom leave fewer objects. */
const maxTried = 4;

/**
 * The objects of a namespace that may satisfy the requirements; the caller decides. If one of them demands a value, only
 * those that have it are looked at. The index exists from the first such call on.
 */
export function listByLabels<T extends ApiObject>(
  informer: Informer<T>,
  namespace: string,
  requirements: readonly Requirement[],
): readonly T[] {
  const demanded = requirements.filter(demandsValue);
  if (demanded.length === 0) return informer.list(namespace);
  informer.addIndex(indexName, labelKeys);
  let fewest: readonly T[] | undefined;
  for (const { key, values } of demanded.slice(0, maxTried)) {
    const found = informer.by(indexName, labelKey(namespace, key, values[0] ?? ""));
    if (!fewest || found.length < fewest.length) fewest = found;
  }
  return fewest ?? [];
}
