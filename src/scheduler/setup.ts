import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import type { Extenders } from "./extenders/extenders.ts";
import { type Profile } from "./framework.ts";
import { type PluginDeps } from "./profiles.ts";
import { type Backoff } from "./queue.ts";
import { type Verdicts } from "./seeing/verdicts.ts";

/** What a configuration file decides. */
export interface SchedulerSetup {
  readonly profiles: readonly Profile[];
  readonly backoff?: Backoff;
  readonly extenders?: Extenders | undefined;
}

export interface SchedulerDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly recorder: TraceRecorder;
  /** By default there is one profile, with the default plugins. */
  setup?(deps: PluginDeps): SchedulerSetup;
  readonly verdicts?: Verdicts;
}
