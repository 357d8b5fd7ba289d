import { type Look } from "#api/known-sound.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { type PodObject } from "../pod-fields.ts";

/**
 * The rules of pods look at the spec and the annotations. They also look at a name that is no DNS label, and at the name
 * of a pod with claims that are named after it.
 */
export function podLook({ metadata, spec }: PodObject): Look | undefined {
  const { name = "", annotations } = metadata;
  const { volumes = [] } = spec;
  if (dns1123Label.all(name).length > 0 || volumes.some(({ ephemeral }) => ephemeral)) return undefined;
  const text = JSON.stringify(spec);
  const all = annotations ? `${text}${JSON.stringify(annotations)}` : text;
  if (all.includes(sameForAll)) return undefined;
  const token = volumes.find((volume) => tokenName.test(volume.name))?.name;
  // In the annotations too: they may name a container that is called the same.
  return { key: token === undefined ? all : all.replaceAll(token, sameForAll), spec: text };
}

/** The server makes up a name for the volume of each pod's token. No rule treats names of this form differently. */
const tokenName = /^kube-api-access-[a-z0-9]{5}$/;
const sameForAll = "kube-api-access-?????";
