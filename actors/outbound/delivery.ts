/** How messages of rules leave, by their kind. */
import type { OutboundDone, OutboundRequest } from "../rules/messages.ts";
import type { MailSettings } from "./email.ts";
import type { OutboundPorts } from "./shell.ts";
import { createAgent, sendWebhook } from "./webhook.ts";

/** `mail` is null where mail is not set up. */
export function createDelivery(mail: MailSettings | null): Pick<OutboundPorts, "deliver" | "close"> {
  const agent = createAgent();
  let mailing: Promise<Mailing> | null = null;
  const deliver = async (request: OutboundRequest, stopped: AbortSignal): Promise<OutboundDone["result"]> => {
    if (request.kind === "WebhookRequest") return sendWebhook(agent, request, stopped);
    // The configuration may have changed since the message was stored.
    if (mail === null) return { error: "email is not configured" };
    mailing ??= startMailing(mail);
    return (await mailing).send(request, stopped);
  };
  const close = async (): Promise<void> => {
    await agent.destroy();
    (await mailing)?.close();
  };
  return { deliver, close };
}

interface Mailing {
  send(request: OutboundRequest & { kind: "EmailRequest" }, stopped: AbortSignal): Promise<OutboundDone["result"]>;
  close(): void;
}

/** The library is loaded with the first mail. */
async function startMailing(mail: MailSettings): Promise<Mailing> {
  const { createMailer, sendEmail } = await import("./email.ts");
  const mailer = createMailer(mail);
  return { send: (request, stopped) => sendEmail(mailer, mail, request, stopped), close: () => mailer.close() };
}
