import type { ApiObject } from "#api/resource.ts";
import type { Template } from "#lib/template/template.ts";
import type { StageScope } from "./stage-functions.ts";

/** A stage that does not work for one object. */
export class StageFault extends Error {
  override readonly name = "StageFault";
}

/** A step in the life of objects of one kind, as kwok's users write it: which objects take it, when, and what it does. */
export interface Stage {
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  isFor(object: ApiObject): boolean;
  /** How likely it is among the stages that are for the same object; undefined if the object says nothing usable. */
  weightOf(object: ApiObject): number | undefined;
  readonly delay: StageDelay | undefined;
  readonly steps: readonly StageStep[];
}

export interface StageDelay {
  /** Milliseconds; undefined if there is no such time. */
  durationMs(object: ApiObject, nowMs: number): number | undefined;
  /** The end of the time in which it happens; undefined: at the time above. */
  latestMs(object: ApiObject, nowMs: number): number | undefined;
}

export type StageStep =
  | { readonly type: "event"; readonly event: StageEvent }
  | { readonly type: "finalizers"; readonly change: FinalizerChange }
  | { readonly type: "patch"; readonly patch: StagePatch }
  | { readonly type: "apply"; readonly apply: StageApply }
  | { readonly type: "delete" };

export interface StageEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface FinalizerChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly empty: boolean;
}

export interface StagePatch {
  readonly template: Template<StageScope>;
  readonly type: "json" | "merge" | "strategic";
  /** The member of the object that the template is about. */
  readonly root: string | undefined;
  readonly subresource: string | undefined;
  /** Who patches, if not the stages themselves. */
  readonly as: string | undefined;
}

export interface StageApply {
  readonly template: Template<StageScope>;
  readonly type: "apply" | "merge" | "strategic";
  readonly subresource: string | undefined;
  readonly as: string | undefined;
}
