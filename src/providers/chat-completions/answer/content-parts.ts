import { isObject, objectsIn } from '../../../validation/index.js';
import { THOUGHTS } from '../opaque/opaque-members.js';
import type { ChatDelta } from './chat-chunk.js';

/** What a delta or a message says. */
export interface DeltaTexts {
  readonly reasoning: string;
  readonly text: string;
  readonly refusal: string;
}

const NO_PARTS: readonly Readonly<Record<string, unknown>>[] = [];

/** Reads the reasoning, the text and the refusal of a delta or a message. Content may be a list of parts, of which some are reasoning. */
export function textsIn(delta: ChatDelta): DeltaTexts {
  const thought = thoughtOf(delta);
  const refusal = textOrEmpty(delta.refusal);
  const { content } = delta;
  if (typeof content === 'string' && content !== '') return { reasoning: thought, text: content, refusal };
  const parts = partsOf(content);
  // Most deltas of reasoning have no content.
  if (parts.length === 0 && delta.audio == null) return { reasoning: thought, text: '', refusal };
  const text = parts
    .filter((part) => !isThought(part))
    .map((part) => wordsOf(part.text))
    .join('');
  return {
    reasoning: thought + parts.filter(isThought).map(wordsOf).join(''),
    // What is said as sound has its words beside it.
    text: text === '' && isObject(delta.audio) ? textOrEmpty(delta.audio.transcript) : text,
    refusal: refusal + parts.map((part) => textOrEmpty(part.refusal)).join(''),
  };
}

/** The parts of a content: a list of objects and texts, or one of either. */
function partsOf(content: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (content == null || content === '') return NO_PARTS;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return objectsIn(parts.map((part) => (typeof part === 'string' ? { text: part } : part)));
}

function thoughtOf(delta: ChatDelta): string {
  for (const member of THOUGHTS) {
    const thought = wordsOf(delta[member]);
    if (thought !== '') return thought;
  }
  return '';
}

function isThought({ type }: Readonly<Record<string, unknown>>): boolean {
  return type === 'thinking' || type === 'reasoning' || type === 'reasoning_text';
}

/** The words of a text, of an object that has one, or of a list of them. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(wordsOf).join('');
  if (!isObject(value)) return '';
  return wordsOf(value.thinking ?? value.text ?? value.summary ?? value.content ?? value.value);
}

/** A string; anything else is empty. */
export function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
