import { type Pod } from "#api/core/pod.ts";

/** A pod that is deleted and created again with the same name is another pod. */
export const keyOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}/${metadata.uid}`;
