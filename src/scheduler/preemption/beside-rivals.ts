import { type Pod } from "#api/core/pod.ts";
import { type Across } from "../across.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { Judge } from "../judge.ts";
import { keyOf } from "../pod-key.ts";
import { type Snapshot } from "../snapshot.ts";
import { type Nominations, priorityOf } from "./nominations.ts";
import { WhatIf } from "./what-if.ts";

export interface RivalDeps {
  readonly plugins: readonly SchedulerPlugin[];
  readonly snapshot: Snapshot;
  readonly nominations: Nominations;
}

/** Also rejects nodes where the pod would take the room for which more important pods wait. */
export function besideRivals(deps: RivalDeps, pod: Pod, across: Across | undefined): Across {
  const { plugins, snapshot, nominations } = deps;
  const key = keyOf(pod);
  const priority = priorityOf(pod);
  const nominated = nominations.nodes().flatMap((name) => snapshot.get(name)?.slot ?? []);
  /** The same for all nodes. */
  let judge: Judge | undefined;
  const beside: Across = {
    only: across ? undefined : nominated,
    hasScores: across?.hasScores ?? false,
    reject(marks, isWanted) {
      let hasMarked = across?.reject(marks, isWanted) ?? false;
      for (const slot of nominated) {
        if (marks[slot] !== 0 || !isWanted(slot) || !beside.filter(slot)) continue;
        marks[slot] = 1;
        hasMarked = true;
      }
      return hasMarked;
    },
    filter(slot) {
      const rejection = across?.filter(slot);
      const info = snapshot.at(slot);
      if (rejection || !info || !nominations.isOn(info.name)) return rejection;
      const rivals = nominations.rivals(info.name, key, priority);
      if (rivals.length === 0) return undefined;
      judge ??= Judge.for(pod, plugins, snapshot);
      using node = new WhatIf({ plugins, snapshot, judge }, pod, info);
      for (const rival of rivals) node.add(rival.key, rival.pod);
      return node.rejection();
    },
    scoresBy: (slots) => across?.scoresBy(slots) ?? [],
    addScores: (slots, totals) => across?.addScores(slots, totals),
  };
  return beside;
}
