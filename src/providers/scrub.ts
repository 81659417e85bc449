import { redactBeginning } from './redact.js';

/** Characters of a message that clients see. */
const LONGEST_MESSAGE = 500;
/** Characters that are searched for secrets. */
const MOST_READ = 20 * LONGEST_MESSAGE;

const ADDRESSES = [
  /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>)\]]{1,2048}/gi,
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g,
  /\[[0-9a-f]{0,4}(?::[0-9a-f.]{0,15}){2,8}\](?::\d{1,5})?/gi,
  /\b(?:localhost|[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}):\d{2,5}\b/gi,
];

/** A message for clients: credentials and addresses removed, on one line, up to 500 characters. */
export function scrub(message: string, secrets: readonly string[]): string {
  let text = redactBeginning(message, secrets, MOST_READ);
  for (const address of ADDRESSES) text = text.replaceAll(address, '[address]');
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
}

/** Why something failed, in a few words without addresses and credentials: the error's code, or else its message. */
export function reasonOf(error: unknown, secrets: readonly string[] = []): string {
  const { code, message = error } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return scrub(String(typeof code === 'string' ? code : message), secrets);
}
