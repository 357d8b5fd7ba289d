import { type PodObject } from "./pod-fields.ts";

/** The claims that a pod uses: those that it names, and those that are made for its ephemeral volumes. */
export const claimNamesOf = ({ metadata, spec }: Pick<PodObject, "metadata" | "spec">): string[] =>
  (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) =>
    persistentVolumeClaim ? persistentVolumeClaim.claimName : ephemeral ? `${metadata.name}-${name}` : [],
  );
