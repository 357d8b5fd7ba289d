import type { Node } from "#api/core/node.ts";
import type { Pod } from "#api/core/pod.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { isConflict, isNotFound, StatusError } from "#api/status.ts";
import { kubeletVersion } from "#kubelet/node/node.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Log } from "#lib/process/log.ts";
import { TemplateFault } from "#lib/template/faults.ts";
import { YamlError } from "#lib/yaml/yaml.ts";
import { type PerformDeps, perform } from "./perform.ts";
import { planStep } from "./plan-steps.ts";
import { type Stage, StageFault } from "./stage.ts";
import type { StageScope } from "./stage-functions.ts";
import type { StageNodes } from "./stage-nodes.ts";

/** A stage that an object has begun. */
export interface Playing {
  readonly stage: Stage;
  /** The object as it was when the stage was chosen. */
  readonly object: ApiObject;
  readonly dueMs: number;
  /** How many steps are done. */
  done: number;
}

export interface PlayerDeps extends PerformDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly nodes: StageNodes;
}

export interface Player extends PlayerDeps {
  readonly resource: Resource;
  readonly startTime: string;
}

export const stagePlayer = (deps: PlayerDeps, resource: Resource): Player => ({
  ...deps,
  resource,
  startTime: new Date(deps.clock.now()).toISOString(),
});

/**
 * Takes the steps of a stage. A step that the server could not answer is tried again later, from there on. A step that does
 * not work for this object ends the stage, and an event of the object says why.
 */
export async function playStage(player: Player, playing: Playing, signal: AbortSignal): Promise<void> {
  const { resource } = player;
  const named = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...playing.object };
  const scope = scopeFor(player, playing.object);
  let latest = playing.object;
  for (const step of playing.stage.steps.slice(playing.done)) {
    try {
      const effect = await planStep(step, { object: named, latest }, scope);
      if (effect) latest = (await perform(player, { resource, object: latest, effect }, signal)) ?? latest;
    } catch (error) {
      if (!isFinal(error)) throw error;
      if (!isNotFound(error)) reportFault(player, playing.object, `stage ${playing.stage.name}: ${error.message}`);
      return;
    }
    playing.done++;
  }
}

/** Whether trying again would end in the same way. */
function isFinal(error: unknown): error is Error {
  if (error instanceof StatusError) return error.code < 500 && error.code !== 429 && !isConflict(error);
  if (error instanceof TemplateFault || error instanceof YamlError || error instanceof StageFault) return true;
  // Data may be nested as deep as a request allows, which is deeper than a template can follow.
  return error instanceof RangeError;
}

/** Says that an object takes no stage, or only a part of one. */
export function reportFault({ log, events, resource }: Player, object: ApiObject, message: string): void {
  const { namespace, name } = object.metadata;
  log.warn("a stage does not work for an object", { kind: resource.kind, namespace, name, message });
  const about = { ...object, kind: resource.kind, apiVersion: apiVersionOf(resource) };
  events.event(about, "Warning", "FailedStage", message);
}

const kubeletPort = 10_250;

function scopeFor({ clock, nodes, startTime }: Player, object: ApiObject): StageScope {
  const { nodeName = object.metadata.name ?? "" } = (object as Partial<Pod & Node>).spec ?? {};
  return {
    now: new Date(clock.now()).toISOString(),
    startTime,
    version: kubeletVersion,
    nodeName,
    nodePort: kubeletPort,
    uid: object.metadata.uid ?? "",
    nodeIPs: (name) => nodes.ipsOf(name),
    podIPs: ({ node, uid, isOnHost }) => nodes.podIps(node, uid, isOnHost),
  };
}
