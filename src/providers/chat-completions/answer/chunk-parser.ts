import { isObject, objectsIn } from '../../../validation/index.js';
import { type ChatChunk, parseChunk } from './chat-chunk.js';

/** What stands in a JSON text otherwise than in the string: quotes, escapes, and what JSON forbids. */
const NOT_PLAIN = /["\\\p{Cc}]/u;

/** A chunk with one text that the next chunks may replace. */
interface Pattern {
  readonly chunk: ChatChunk;
  readonly delta: Record<string, unknown>;
  /** The member of the delta that is the text. */
  readonly member: string;
  /** The JSON before and behind the text. */
  readonly head: string;
  readonly tail: string;
}

/**
 * Parses the chunks of a stream. Most differ from the one before in nothing but one text: these are not parsed, which would take ten times as
 * long, but are that chunk with another text. So a chunk is valid only until the next one.
 */
export class ChunkParser {
  private pattern: Pattern | null = null;

  constructor(private readonly secrets: readonly string[]) {}

  /** Throws as `parseChunk`. */
  parse(json: string): ChatChunk {
    const { pattern } = this;
    const text = pattern === null ? null : textIn(json, pattern);
    if (pattern !== null && text !== null) {
      pattern.delta[pattern.member] = text;
      return pattern.chunk;
    }
    const chunk = parseChunk(json, this.secrets);
    // One that cannot be a pattern, as with an escaped line break, may stand between others that follow the last.
    this.pattern = patternOf(json, chunk) ?? pattern;
    return chunk;
  }
}

/** The text of a chunk that follows a pattern; null if it does not. */
function textIn(json: string, { head, tail }: Pattern): string | null {
  const end = json.length - tail.length;
  // Compared as slices: `startsWith` and `endsWith` look at one character after another.
  if (end < head.length || json.slice(0, head.length) !== head || json.slice(end) !== tail) return null;
  const text = json.slice(head.length, end);
  return NOT_PLAIN.test(text) ? null : text;
}

/** Null where it would not be certain which characters of the JSON are the text. */
function patternOf(json: string, chunk: ChatChunk): Pattern | null {
  const delta = deltaOf(chunk);
  if (delta === null || json.includes('\\')) return null;
  for (const member in delta) {
    const text = delta[member];
    if (member === 'role' || typeof text !== 'string' || text === '') continue;
    // Without escapes, each occurrence is a name or a whole string, and the only one is the name of this member.
    const name = `"${member}"`;
    const at = json.indexOf(name);
    if (json.includes(name, at + 1)) return null;
    const start = json.indexOf('"', at + name.length) + 1;
    return { chunk, delta, member, head: json.slice(0, start), tail: json.slice(start + text.length) };
  }
  return null;
}

/** The delta of the only choice. */
function deltaOf({ choices }: ChatChunk): Record<string, unknown> | null {
  if (!Array.isArray(choices) || choices.length !== 1) return null;
  const delta = objectsIn(choices)[0]?.delta;
  return isObject(delta) ? delta : null;
}
