import { type Volume } from "#api/core/volume/volume.ts";
import { type Check, plural, quoted, sortedOnce } from "./check.ts";

export const hostPathVolumes: Check = {
  id: "hostPathVolumes",
  level: "baseline",
  versions: [
    {
      since: 0,
      find({ spec }) {
        const bad = spec.volumes?.filter(({ hostPath }) => hostPath).map(({ name }) => name) ?? [];
        return bad.length > 0
          ? { reason: "hostPath volumes", detail: `${plural(bad.length, "volume")} ${quoted(bad)}` }
          : undefined;
      },
    },
  ],
};

export const restrictedVolumes: Check = {
  id: "restrictedVolumes",
  level: "restricted",
  replaces: [hostPathVolumes.id],
  versions: [
    {
      since: 0,
      find({ spec }) {
        const bad = spec.volumes?.filter((volume) => !allowed.some((source) => volume[source])) ?? [];
        if (bad.length === 0) return undefined;
        const types = sortedOnce(bad.map(sourceOf));
        const names = `${plural(bad.length, "volume")} ${quoted(bad.map(({ name }) => name))}`;
        const uses = `${plural(bad.length, "uses", "use")} ${plural(types.length, "restricted volume type")}`;
        return { reason: "restricted volume types", detail: `${names} ${uses} ${quoted(types)}` };
      },
    },
  ],
};

const allowed = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
] as const;

/** Validation has made sure that a volume has one source; in templates of other kinds too. */
const sourceOf = (volume: Volume): string => Object.keys(volume).find((key) => key !== "name") ?? "unknown";
