import { groupResource, type Resource } from "#api/resource.ts";
import { truncateBytes } from "#lib/text/truncate.ts";
import { type Facts, type HopName, type HopObject } from "#trace/hop.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type AdmissionRequest } from "./plugin.ts";

/** What webhooks and policies did to a request, as hops of its trace. */
export interface AdmissionRecord {
  /** `mutate` or `admit`. */
  readonly hop: HopName;
  /** `webhook labels.example.com`, `policy replicas`. */
  readonly by: string;
}

/** Returns a function that ends the hop; undefined if nothing is recorded. */
export function startHop(
  recorder: TraceRecorder | undefined,
  request: AdmissionRequest,
  { hop, by }: AdmissionRecord,
): ((facts: Facts) => void) | undefined {
  if (!recorder?.isOn || request.resource.isUntraced) return undefined;
  const span = recorder.startSpan({ hop, component: by, object: objectOf(request) });
  return (facts) => span.end({ facts });
}

/** Whether values of its objects stay out of traces: whoever may read a trace need not be allowed to read a Secret. */
export const isConfidential = ({ group, kind }: Pick<Resource, "group" | "kind">): boolean =>
  group === "" && kind === "Secret";

/** Names are not checked yet when plugins see them, and a hop is kept for long. */
function objectOf({ resource, namespace, name }: AdmissionRequest): HopObject {
  const short = (text: string) => truncateBytes(text, 253);
  return { resource: groupResource(resource, resource.plural), namespace: short(namespace), name: short(name) };
}
