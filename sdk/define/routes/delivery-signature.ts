/** Verifies who sent a delivery to an incoming hook: one scheme for each sender's way to sign. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** Difference between the time in a signature and this machine's clock beyond which a delivery is rejected. */
const WINDOW_S = 300;

/** How a sender signs with HMAC: the value of a header, over the body or over "time.body". */
export interface HmacOptions {
  /** Header with the signature, for example "x-signature". */
  header: string;
  /** Default "sha256". */
  algorithm?: "sha256" | "sha512" | "sha1";
  /** Default "hex". */
  encoding?: "hex" | "base64";
  /** Text in front of the signature, for example "sha256=". Default: none. */
  prefix?: string;
  /**
   * Header with the time of the signature in seconds since 1970. The sender then signs `${time}.${body}`, and deliveries more
   * than 5 minutes old are rejected. Without it, a delivery has no age.
   */
  timestamp?: string;
  /** Header with the sender's id of the delivery, for `context.id`. Default: a digest of what was signed. */
  id?: string;
}

/**
 * How deliveries are verified. "github": X-Hub-Signature-256. "stripe": Stripe-Signature. "slack": X-Slack-Signature.
 * "standard": the headers of the Standard Webhooks specification (webhook-id, webhook-timestamp, webhook-signature). Any other
 * HMAC by its options.
 */
export type Verification = "github" | "stripe" | "slack" | "standard" | HmacOptions;

/** A delivery as it was received. */
export interface Delivery {
  headers: Headers;
  body: Uint8Array;
}

/** A delivery of a known sender. */
export interface VerifiedDelivery {
  /** The sender's id of the delivery; a digest of what was signed if the sender sends none. */
  id: string;
  /** What the signature covers and is the same when the sender repeats the delivery. */
  identity: string;
}

/** Why a delivery is rejected. */
export class DeliveryRejection extends Error {
  override name = "DeliveryRejection";
}

/**
 * Verifies a delivery with one of these secrets, of which a sender uses one while it is replaced by another.
 * @param nowS seconds since 1970
 * @throws DeliveryRejection when the signature is missing, malformed, wrong or more than 5 minutes old
 */
export function verifyDelivery(
  verification: Verification,
  delivery: Delivery,
  secrets: readonly string[],
  nowS: number,
): VerifiedDelivery {
  switch (verification) {
    case "github":
      return verifyHmac({ header: "x-hub-signature-256", prefix: "sha256=", id: "x-github-delivery" }, delivery, secrets, nowS);
    case "stripe":
      return verifyStripe(delivery, secrets, nowS);
    case "slack":
      return verifySlack(delivery, secrets, nowS);
    case "standard":
      return verifyStandard(delivery, secrets, nowS);
    default:
      return verifyHmac(verification, delivery, secrets, nowS);
  }
}

function verifyHmac(options: HmacOptions, delivery: Delivery, secrets: readonly string[], nowS: number): VerifiedDelivery {
  const { header, algorithm = "sha256", encoding = "hex", prefix = "", timestamp, id } = options;
  const sent = required(delivery, header);
  if (!sent.startsWith(prefix)) throw new DeliveryRejection(`${header} does not begin with ${prefix}`);
  const time = timestamp === undefined ? null : required(delivery, timestamp);
  const content = time === null ? delivery.body : joined(`${time}.`, delivery.body);
  const signature = sent.slice(prefix.length);
  if (!secrets.some((secret) => isSignature([signature], hmac(algorithm, secret, content), encoding)))
    throw new DeliveryRejection(`${header} is not the signature of this body`);
  if (time !== null) checkTime(time, nowS);
  const digest = digestOf(content);
  return { id: (id === undefined ? null : delivery.headers.get(id)) ?? digest, identity: digest };
}

/** https://docs.stripe.com/webhooks#verify-manually: "t=TIME,v1=HEX,v1=HEX" over "TIME.BODY". */
function verifyStripe(delivery: Delivery, secrets: readonly string[], nowS: number): VerifiedDelivery {
  const parts = required(delivery, "stripe-signature").split(",");
  const values = (key: string) => parts.filter((part) => part.startsWith(`${key}=`)).map((part) => part.slice(key.length + 1));
  const [time] = values("t");
  if (time === undefined) throw new DeliveryRejection("stripe-signature holds no time");
  const content = joined(`${time}.`, delivery.body);
  if (!secrets.some((secret) => isSignature(values("v1"), hmac("sha256", secret, content), "hex")))
    throw new DeliveryRejection("stripe-signature holds no signature of this body");
  checkTime(time, nowS);
  // A repeated delivery has another time, and other counts in its body, but the same id of its event.
  return idOf(delivery, "id") ?? ofDigest(digestOf(content));
}

/** https://docs.slack.dev/authentication/verifying-requests-from-slack: "v0=HEX" over "v0:TIME:BODY". */
function verifySlack(delivery: Delivery, secrets: readonly string[], nowS: number): VerifiedDelivery {
  const sent = required(delivery, "x-slack-signature");
  const time = required(delivery, "x-slack-request-timestamp");
  const content = joined(`v0:${time}:`, delivery.body);
  const [version, signature = ""] = sent.split("=");
  if (version !== "v0" || !secrets.some((secret) => isSignature([signature], hmac("sha256", secret, content), "hex")))
    throw new DeliveryRejection("x-slack-signature is not the signature of this body");
  checkTime(time, nowS);
  // A repeated delivery has another time. Commands and interactions hold an id of their own, so that equal bodies are equal.
  return idOf(delivery, "event_id") ?? ofDigest(digestOf(delivery.body));
}

/** https://www.standardwebhooks.com: "v1,BASE64 v1,BASE64" over "ID.TIME.BODY"; the secret is base64 behind "whsec_". */
function verifyStandard(delivery: Delivery, secrets: readonly string[], nowS: number): VerifiedDelivery {
  const id = required(delivery, "webhook-id");
  const time = required(delivery, "webhook-timestamp");
  const sent = required(delivery, "webhook-signature").split(" ");
  const signatures = sent.filter((part) => part.startsWith("v1,")).map((part) => part.slice("v1,".length));
  const content = joined(`${id}.${time}.`, delivery.body);
  const keys = secrets.map((secret) => Buffer.from(secret.replace(/^whsec_/, ""), "base64"));
  if (!keys.some((key) => isSignature(signatures, hmac("sha256", key, content), "base64")))
    throw new DeliveryRejection("webhook-signature holds no signature of this body");
  checkTime(time, nowS);
  return ofDigest(id);
}

function required({ headers }: Delivery, name: string): string {
  const value = headers.get(name);
  if (value === null || value === "") throw new DeliveryRejection(`${name.toLowerCase()} is missing`);
  return value;
}

/** Checked after the signature, so that only the sender learns whether its clock is wrong. */
function checkTime(time: string, nowS: number): void {
  if (!/^\d{1,15}$/.test(time) || Math.abs(nowS - Number(time)) > WINDOW_S)
    throw new DeliveryRejection(`it was signed more than ${WINDOW_S / 60} minutes ago, or the clocks differ by that much`);
}

function hmac(algorithm: string, secret: string | Buffer, content: Uint8Array): Buffer {
  return createHmac(algorithm, secret).update(content).digest();
}

/** True if one of the texts is this signature. Compares in the same time for every text of the right length. */
function isSignature(texts: readonly string[], expected: Buffer, encoding: "hex" | "base64"): boolean {
  return texts.some((text) => {
    const sent = Buffer.from(text, encoding);
    return sent.length === expected.length && timingSafeEqual(sent, expected);
  });
}

function joined(head: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(head), body]);
}

function digestOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function ofDigest(identity: string): VerifiedDelivery {
  return { id: identity, identity };
}

/** The id that the signed body holds under this key; null if there is none. */
function idOf({ body }: Delivery, key: string): VerifiedDelivery | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    const id = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
    return typeof id === "string" && id !== "" ? ofDigest(id) : null;
  } catch {
    return null;
  }
}
