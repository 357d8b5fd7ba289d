import { BrokenClaim, count, summary } from "../lib/hostile.ts";
import { type Attack } from "./attack.ts";

const list = (items: number): string => `[${Array(items).fill("1").join()}]`;
const patchOf = (items: number, operation: string): string =>
  `[{"op":"add","path":"/x","value":${list(items)}}${`,${operation}`.repeat(9999)}]`;
const patches = [
  patchOf(1_300_000, '{"op":"add","path":"/x/0","value":1}'),
  patchOf(18_000, '{"op":"add","path":"/x/0","value":1}'),
  patchOf(18_000, '{"op":"move","from":"/x/0","path":"/x/-"}'),
  patchOf(18_000, '{"op":"remove","path":"/x/0"}'),
];

export const attack: Attack = {
  name: "JSON patches",
  claim: "values and steps of a patch are limited",
  needs: "server",

  async prepare(target) {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "patched" } };
    await target.ask({ method: "POST", path: `/api/v1/namespaces/${target.namespace}/configmaps`, body });
  },

  async run(target, signal) {
    const answers = new Map<string, number>();
    const path = `/api/v1/namespaces/${target.namespace}/configmaps/patched`;
    const type = "application/json-patch+json";
    for (let n = 0; !signal.aborted; n++) {
      const { status } = await target.ask({ method: "PATCH", path, type, body: patches[n % patches.length] });
      count(answers, status);
    }
    if ([...answers.keys()].some((status) => Number(status) < 400 || Number(status) >= 500)) {
      throw new BrokenClaim(summary(answers));
    }
    return summary(answers);
  },
};
