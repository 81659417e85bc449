import type { Logprob } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';

/** The log probabilities of a choice in the form of the Responses API; incomplete entries are omitted. */
export function readLogprobs(logprobs: unknown): readonly Logprob[] {
  if (!isObject(logprobs) || !Array.isArray(logprobs.content)) return [];
  return (logprobs.content as readonly unknown[]).flatMap((entry) => {
    const token = readToken(entry);
    if (token === undefined || !isObject(entry)) return [];
    const alternatives = Array.isArray(entry.top_logprobs) ? (entry.top_logprobs as readonly unknown[]) : [];
    return [{ ...token, top_logprobs: alternatives.map(readToken).filter((other) => other !== undefined) }];
  });
}

function readToken(value: unknown): Omit<Logprob, 'top_logprobs'> | undefined {
  if (!isObject(value)) return undefined;
  const { token, logprob, bytes } = value;
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined;
  const isBytes = Array.isArray(bytes) && bytes.every((byte) => typeof byte === 'number');
  return { token, logprob, bytes: isBytes ? bytes : [...Buffer.from(token, 'utf8')] };
}
