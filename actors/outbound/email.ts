/**
 * Sends one mail: up to three attempts, as long as the mail server reports temporary errors. The only file that imports
 * nodemailer.
 */
import { createTransport } from "nodemailer";
import type { EmailRequest, OutboundDone } from "../rule-engine/rule-messages.ts";
import { type Attempt, inAttempts } from "./attempts.ts";

/** Configuration of outgoing mail. */
export interface MailSettings {
  host: string;
  port: number;
  /** False sends unencrypted; true requires TLS, implicit on port 465, by STARTTLS on other ports. */
  tls: boolean;
  username: string | null;
  password: string | null;
  from: string;
}

/** Port with implicit TLS. */
const TLS_PORT = 465;
/** Time limits for a silent mail server: to connect, until its greeting, within the conversation. */
const CONNECT_MS = 5_000;
const SILENCE_MS = 10_000;
/** Characters of a mail server's response that are kept. */
const REASON_LENGTH_MAX = 500;
/** From this SMTP code on, a retry is useless. */
const PERMANENT = 500;

export type Mailer = ReturnType<typeof createMailer>;

export function createMailer({ host, port, tls, username, password }: MailSettings) {
  const secure = tls && port === TLS_PORT;
  return createTransport({
    host,
    port,
    secure,
    requireTLS: tls && !secure,
    ignoreTLS: !tls,
    ...(username === null ? {} : { auth: { user: username, pass: password ?? "" } }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    // The text comes from a rule, so it must not name files or URLs to be read.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

export function sendEmail(
  mailer: Mailer,
  settings: MailSettings,
  sent: Pick<EmailRequest, "to" | "subject" | "text" | "message_id">,
  stopped: AbortSignal,
): Promise<OutboundDone["result"]> {
  const domain = /@([A-Za-z0-9.-]+)/.exec(settings.from)?.[1] ?? "localhost";
  const message = {
    from: settings.from,
    to: sent.to,
    subject: sent.subject,
    text: sent.text,
    // The same for every attempt, so that the recipient can recognise duplicates.
    messageId: `<${sent.message_id}@${domain}>`,
    // Prevents automatic replies.
    headers: { "Auto-Submitted": "auto-generated" },
  };
  return inAttempts("email", stopped, async (attempt): Promise<Attempt> => {
    try {
      const { accepted, rejected } = await mailer.sendMail(message);
      return { result: { detail: { accepted: accepted.map(addressOf), rejected: rejected.map(addressOf), attempts: attempt } } };
    } catch (cause) {
      const reason = withoutSecrets(reasonOf(cause), settings).slice(0, REASON_LENGTH_MAX);
      return isPermanent(cause) ? { result: { error: `email refused: ${reason}` } } : { again: reason };
    }
  });
}

function addressOf(recipient: string | { address: string }): string {
  return typeof recipient === "string" ? recipient : recipient.address;
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message.replaceAll(/\s+/g, " ").trim() : String(cause);
}

function isPermanent(cause: unknown): boolean {
  const { responseCode } = cause as { responseCode?: unknown };
  return typeof responseCode === "number" && responseCode >= PERMANENT;
}

/** Removes credentials, because a mail server's response may quote what it was sent. */
function withoutSecrets(text: string, { username, password }: MailSettings): string {
  if (password === null || password === "") return text;
  const encoded = [password, `\0${username}\0${password}`].map((secret) => Buffer.from(secret).toString("base64"));
  return [password, ...encoded].reduce((shown, secret) => shown.replaceAll(secret, "********"), text);
}
