import { defaulted, inGo, optional } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { listByKey, oneOf } from "#schema/types.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { webhookConfiguration, webhookFields } from "./webhook.ts";

const MutatingWebhook = inPackage("admissionregistration/v1")(
  "MutatingWebhook",
  "A webhook that can change or refuse requests, and which requests it gets.",
  {
    ...webhookFields(11, 12),
    reinvocationPolicy: inGo(
      { isPointer: true },
      defaulted(
        10,
        oneOf("IfNeeded", "Never"),
        "Never",
        "Whether the webhook is called again if others changed the object after its call: Never or IfNeeded.",
      ),
    ),
  },
);

const fields = { webhooks: optional(2, listByKey("name", MutatingWebhook), "Webhooks of the configuration.") };
export interface MutatingWebhookConfiguration extends ClusterObject<typeof fields> {}

export const MutatingWebhookConfiguration = defineResource(
  "admissionregistration.k8s.io/v1.MutatingWebhookConfiguration",
  fields,
  { ...webhookConfiguration, doc: "Webhooks that can change or refuse requests." },
);
