import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { classNameOf } from "#api/core/persistent-volume/volume-columns.ts";
import { compareQuantities, formatQuantity, parseQuantity } from "#api/meta/quantity.ts";
import { equal } from "#lib/data/equal.ts";
import { countName, type Evaluator } from "./evaluator.ts";
import { isOfClass } from "./pod-usage.ts";

const names = ["persistentvolumeclaims", "requests.storage"];
/** `gold.storageclass.storage.k8s.io/requests.storage` limits the claims of one class. */
const classSuffix = ".storageclass.storage.k8s.io/";

/** Claims take the storage that they request, in total and from the limits of their class. */
export const volumeClaimEvaluator: Evaluator<PersistentVolumeClaim> = {
  measures: (name) =>
    name === countName(PersistentVolumeClaim) ||
    names.some((known) => name === known || name.endsWith(classSuffix + known)),

  isCharged({ subresource, object, old }) {
    if (subresource !== "status") return subresource === "";
    if (old === undefined) return false;
    return storageOf(old) !== storageOf(object) || !equal(attributesClassesOf(old), attributesClassesOf(object));
  },

  usage(claim) {
    const storage = storageOf(claim);
    const usage = { persistentvolumeclaims: "1", ...(storage === undefined ? {} : { "requests.storage": storage }) };
    const className = classNameOf(claim.metadata, claim.spec.storageClassName);
    const ofClass = Object.entries(className ? usage : {}).map(([name, amount]) => [
      `${className}${classSuffix}${name}`,
      amount,
    ]);
    return { [countName(PersistentVolumeClaim)]: "1", ...usage, ...Object.fromEntries(ofClass) };
  },

  isInScope(claim, scope) {
    if (scope.scopeName !== "VolumeAttributesClass") return false;
    const classes = attributesClassesOf(claim);
    return classes.length === 0 ? isOfClass(scope, undefined) : classes.some((name) => isOfClass(scope, name));
  },
};

/** In whole bytes: the request, or what a growing volume is given if that is more. */
function storageOf({ spec, status }: PersistentVolumeClaim): string | undefined {
  const request = spec.resources?.requests?.storage;
  if (request === undefined) return undefined;
  const wanted = inWholeBytes(request);
  const given = status?.allocatedResources?.storage;
  return given !== undefined && compareQuantities(given, wanted) > 0 ? inWholeBytes(given) : wanted;
}

const nanosPerByte = 1_000_000_000n;
function inWholeBytes(text: string): string {
  const { nanos, format } = parseQuantity(text);
  const rest = nanos % nanosPerByte;
  return rest === 0n ? text : formatQuantity({ nanos: nanos - rest + nanosPerByte, format });
}

const attributesClassesOf = ({ spec, status }: PersistentVolumeClaim): string[] =>
  [
    spec.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name): name is string => Boolean(name));
