/** Delivery of rules' messages, by kind. */
import type { DeliveryRequest, OutboundDone } from "../rule-engine/rule-messages.ts";
import type { MailSettings } from "./email.ts";
import type { OutboundPorts } from "./outbound.ts";

/** Sends messages of one kind. */
interface Sender<R> {
  send(request: R, stopped: AbortSignal): Promise<OutboundDone["result"]>;
  close(): Promise<void>;
}

/**
 * `mail` is null when mail is not configured; webhooks may also go to `networks`. Each library is loaded with the first message
 * that needs it.
 */
export function createDelivery(
  mail: MailSettings | null,
  networks: readonly string[] = [],
): Pick<OutboundPorts, "deliver" | "close"> {
  let webhooks: Promise<Sender<DeliveryRequest & { kind: "WebhookRequest" }>> | null = null;
  let mailing: Promise<Sender<DeliveryRequest & { kind: "EmailRequest" }>> | null = null;
  const deliver = async (request: DeliveryRequest, stopped: AbortSignal): Promise<OutboundDone["result"]> => {
    if (request.kind === "WebhookRequest") {
      webhooks ??= startWebhooks(networks);
      return (await webhooks).send(request, stopped);
    }
    // The configuration may have changed since the message was stored.
    if (mail === null) return { error: "email is not configured" };
    mailing ??= startMailing(mail);
    return (await mailing).send(request, stopped);
  };
  const close = async (): Promise<void> => {
    await (await webhooks)?.close();
    await (await mailing)?.close();
  };
  return { deliver, close };
}

async function startWebhooks(networks: readonly string[]): Promise<Sender<DeliveryRequest & { kind: "WebhookRequest" }>> {
  const [{ createAgent, sendWebhook }, { Targets }] = await Promise.all([import("./webhook.ts"), import("./target.ts")]);
  const targets = new Targets(networks);
  const agent = createAgent(targets);
  return { send: (request, stopped) => sendWebhook(agent, targets, request, stopped), close: () => agent.destroy() };
}

async function startMailing(mail: MailSettings): Promise<Sender<DeliveryRequest & { kind: "EmailRequest" }>> {
  const { createMailer, sendEmail } = await import("./email.ts");
  const mailer = createMailer(mail);
  return {
    send: (request, stopped) => sendEmail(mailer, mail, request, stopped),
    close: async () => mailer.close(),
  };
}
