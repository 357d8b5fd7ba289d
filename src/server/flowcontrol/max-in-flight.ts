import { TooBusyError } from "#api/status.ts";
import { type Context, isLongRunning, type Seats } from "#server/request/pipeline.ts";

const readVerbs = new Set(["get", "list", "watch", "proxy"]);
const nothing: Seats = { finish() {} };

/**
 * Two simple limits, for reads and for writes, instead of priority and fairness. 0: no limit. Administrators and components
 * in this process are counted, but never refused.
 */
export class MaxInFlight {
  readonly #limits: { readonly reads: number; readonly writes: number };
  #counts = { reads: 0, writes: 0 };

  constructor(limits: { readonly reads: number; readonly writes: number }) {
    this.#limits = limits;
  }

  admit({ info, user, request }: Context): Seats {
    const kind = readVerbs.has(info.verb) ? "reads" : "writes";
    const limit = this.#limits[kind];
    if (limit === 0 || isLongRunning(info)) return nothing;
    const isRefused = !request.peer.user && !user.groups.includes("system:masters");
    if (this.#counts[kind] >= limit && isRefused) throw new TooBusyError(1);
    this.#counts[kind]++;
    let isOver = false;
    return {
      finish: () => {
        if (!isOver) this.#counts[kind]--;
        isOver = true;
      },
    };
  }
}
