import type { CreatePlugin } from "#cluster/scheduling/load-plugin.ts";

/** Prefers nodes with few pods of the same team, whichever label names it. */
const fewOfTeam: CreatePlugin = ({ args }) => {
  const label = String(args.label ?? "team");
  return {
    looksAt: ({ metadata }) => [metadata.namespace, metadata.labels?.[label]],

    /** Without a team, every node scores 0. */
    preScore: ({ metadata }) => metadata.labels?.[label],

    score({ metadata }, { pods }, team) {
      let count = 0;
      for (const other of pods.values()) {
        if (other.metadata.namespace === metadata.namespace && other.metadata.labels?.[label] === team) count++;
      }
      return Math.max(100 - count * 10, 0);
    },
  };
};

export default fewOfTeam;
