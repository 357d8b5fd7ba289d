import http2 from "node:http2";
import { type Attack, type AttackTarget } from "./attack.ts";

const watchers = 200;
const perConnection = 50;
const text = "x".repeat(100_000);
const fillWrites = 1100;

/** Each watch has its own selector, so that none shares bytes with another, and no event is ever read. */
export const attack: Attack = {
  name: "stalled-watchers",
  claim: "a watcher that does not read holds one chunk, and gets 410 when its history is gone",
  needs: "server",

  /** Fills the history, which has its own limit, so that only what the watchers add is measured. */
  async prepare(target) {
    const made = await target.ask({ method: "POST", path: pathIn(target), body: { metadata: { name: "loud" } } });
    if (made.status >= 300) throw new Error(`cannot write: ${made.status} ${made.text}`);
    for (let turn = 0; turn < fillWrites; turn++) await write(target, turn);
  },

  async run(target, signal) {
    const path = pathIn(target);
    const sessions = Array.from({ length: watchers / perConnection }, (_, n) => stalledSession(target, path, n));
    let writes = 0;
    let mostLagging = 0;
    while (!signal.aborted) {
      if ((await write(target, writes)) === 200) writes++;
      if (writes % 50 === 0) mostLagging = Math.max(mostLagging, await laggingWatchers(target));
    }
    for (const session of sessions) session.destroy();
    if (mostLagging === 0) throw new Error(`no watcher fell behind ${writes} writes`);
    return `${mostLagging} of ${watchers} watchers stalled behind ${Math.round((writes * text.length) / 1e6)} MB of events each`;
  },
};

const pathIn = ({ namespace }: AttackTarget): string => `/api/v1/namespaces/${namespace}/configmaps`;

async function write(target: AttackTarget, turn: number): Promise<number> {
  const body = { metadata: { labels: { turn: `t${turn}` } }, data: { text, turn: String(turn) } };
  const type = "application/merge-patch+json";
  const { status } = await target.ask({ method: "PATCH", path: `${pathIn(target)}/loud`, body, type });
  return status;
}

function stalledSession({ url, ca, token }: AttackTarget, path: string, n: number): http2.ClientHttp2Session {
  const session = http2.connect(url, { ca });
  session.on("error", () => {});
  session.setMaxListeners(0);
  for (let at = 0; at < perConnection; at++) {
    const query = `?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=turn!=w${n}-${at}`;
    const stream = session.request({ ":path": path + query, authorization: `Bearer ${token}` });
    stream.on("error", () => {});
    stream.pause();
  }
  return session;
}

async function laggingWatchers(target: AttackTarget): Promise<number> {
  const { text: metrics } = await target.ask({ as: "admin", path: "/metrics" });
  return Number(/^orlop_lagging_watchers (\d+)$/m.exec(metrics)?.[1] ?? 0);
}
