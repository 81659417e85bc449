import type { ContentPart } from '../../protocol/index.js';
import { isObject } from '../../validation/index.js';
import type { PartState } from './state.js';

/** A part that begins. */
export function emptyPart(type: PartState['type']): PartState {
  return { type, text: '', isDone: false, annotations: [], logprobs: [] };
}

/** Whether an upstream's part can be shown in events: an object with a type, and the text of its type. */
export function isPart(part: unknown): part is ContentPart {
  if (!isObject(part)) return false;
  const { type, text, refusal } = part as ContentPart;
  if (type === 'output_text') return typeof text === 'string';
  return type === 'refusal' ? typeof refusal === 'string' : typeof type === 'string' && type !== 'reasoning_text';
}

/** Whether a part has deltas. */
export function isOwnPart(part: ContentPart): part is ContentPart & { readonly type: PartState['type'] } {
  return part.type === 'output_text' || part.type === 'refusal';
}

/** SDKs expect both lists in an `output_text` (protocol §3.2); not every upstream sends them. */
export function withLists(part: unknown): unknown {
  if (!isPart(part) || part.type !== 'output_text') return part;
  const { annotations, logprobs } = part;
  if (Array.isArray(annotations) && Array.isArray(logprobs)) return part;
  return { ...part, annotations: listOf(annotations), logprobs: listOf(logprobs) };
}

/** A list; empty for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
