import { redact } from '../../redact.js';

/** Longer words of an upstream help nobody. */
const LONGEST_MESSAGE = 500;

const ADDRESSES = [
  /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>)\]]{1,2048}/gi,
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g,
  /\[[0-9a-f:]{2,45}\](?::\d{1,5})?/gi,
  /\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8}:\d{2,5}\b/gi,
];

/** An upstream's words, fit for clients: without credentials and addresses, on one line, and not too long. */
export function scrub(message: string, secrets: readonly string[]): string {
  const clipped = message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;
  let text = redact(clipped, secrets);
  for (const address of ADDRESSES) text = text.replaceAll(address, '[address]');
  return text.replaceAll(/\s+/g, ' ').trim();
}
