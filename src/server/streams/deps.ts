import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { type Admission } from "#server/admission/chain.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type LocalNodes, type NodeCredentials } from "./node-link.ts";

export interface StreamDeps {
  readonly objects: Objects;
  readonly admission: Admission;
  readonly authorizers: readonly Authorizer[];
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each connection, because certificates are renewed. */
  node(): NodeCredentials;
  readonly localNodes?: LocalNodes | undefined;
}
