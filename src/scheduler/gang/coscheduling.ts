import { type Pod } from "#api/core/pod.ts";
import { type CoschedulingArgs } from "../args/plugin-args.ts";
import { type WaitingPods } from "../binding/waiting-pods.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { Groups, groupOfPod, type PodGroup } from "./groups.ts";

const name = "Coscheduling";
const defaultWaitSeconds = 60;

/**
 * Binds the pods of a group only when enough of them have a node, so that no group takes room that does not suffice.
 * Until enough pods exist, none is tried. Those that have a node wait for the others for a while.
 */
export function coscheduling(args?: CoschedulingArgs): SchedulerPlugin {
  const waitMs = (args?.permitWaitingTimeSeconds ?? defaultWaitSeconds) * 1000;
  const groups = new Groups();
  let waiting: WaitingPods | undefined;
  const giveUp = ({ key }: PodGroup, why: string): void => {
    for (const member of membersIn(waiting, key)) member.reject(name, why);
  };
  return {
    name,
    retryOn: { node: (_pod, { change }) => change !== "deleted", pod: () => true },
    observe: (change) => groups.observe(change),
    groupOf: (pod) => keyOf(groupOfPod(pod)),

    preEnqueue(pod) {
      const group = groupOfPod(pod);
      if (!group) return undefined;
      if (typeof group === "string") return group;
      const there = groups.members(group.key);
      return there < group.min ? `waiting for ${group.min} pods of group ${group.key}, there are ${there}` : undefined;
    },

    async postFilter({ pod }) {
      const group = groupOfPod(pod);
      if (typeof group === "object") giveUp(group, `another pod of group ${group.key} fits on no node`);
      return undefined;
    },

    reserve: (pod) => groups.place(pod),
    unreserve(pod) {
      groups.unplace(pod);
      const group = groupOfPod(pod);
      if (typeof group !== "object" || groups.placed(group.key) >= group.min) return;
      giveUp(group, `another pod of group ${group.key} was rejected`);
    },

    permit(pod, _node, all) {
      waiting = all;
      const group = groupOfPod(pod);
      if (typeof group !== "object") return undefined;
      if (groups.placed(group.key) < group.min) return { waitMs };
      for (const member of membersIn(all, group.key)) member.allow(name);
      return undefined;
    },
  };
}

const keyOf = (group: PodGroup | string | undefined): string | undefined =>
  typeof group === "object" ? group.key : undefined;

/** A copy, because pods leave the list when they are allowed or rejected. */
const membersIn = (waiting: WaitingPods | undefined, key: string) =>
  [...(waiting ?? [])].filter(({ pod, pending }) => pending.has(name) && isIn(pod, key));

const isIn = (pod: Pod, key: string): boolean => keyOf(groupOfPod(pod)) === key;
