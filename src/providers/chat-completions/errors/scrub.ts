import { redact } from '../../redact.js';

/** Longer words of an upstream help nobody. */
const LONGEST_MESSAGE = 500;
/** What is read of them at all; a secret that is cut off here is cut off again below. */
const MOST_READ = 20 * LONGEST_MESSAGE;

const ADDRESSES = [
  /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>)\]]{1,2048}/gi,
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g,
  /\[[0-9a-f]{0,4}(?::[0-9a-f.]{0,15}){2,8}\](?::\d{1,5})?/gi,
  /\b(?:localhost|[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}):\d{2,5}\b/gi,
];

/** An upstream's words, fit for clients: without credentials and addresses, on one line, and not too long. */
export function scrub(message: string, secrets: readonly string[]): string {
  let text = redact(message.slice(0, MOST_READ), secrets);
  for (const address of ADDRESSES) text = text.replaceAll(address, '[address]');
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
}
