/**
 * The signature of a block of thinking is the sealed reasoning behind it, which a client sends back with the block. It begins with a mark,
 * because an upstream may have sealed it: without it, what Anthropic has signed would look the same.
 */
const MARK = 'antiphon.';

/** The signature of reasoning; empty where there is no seal, and nothing to send back. */
export function toSignature(encryptedContent: unknown): string {
  return typeof encryptedContent === 'string' ? MARK + encryptedContent : '';
}

/** The seal in a signature; null if this service has not made it. */
export function openSignature(signature: string): string | null {
  return signature.startsWith(MARK) ? signature.slice(MARK.length) : null;
}
