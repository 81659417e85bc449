import { objectsIn } from '../../../validation/index.js';

/** The output text and the reasoning of a list of parts. */
export interface PartTexts {
  readonly reasoning: string;
  readonly text: string;
}

const NO_TEXTS: PartTexts = { reasoning: '', text: '' };

/** Reads content that is a list of parts, of which some are reasoning. */
export function readParts(content: unknown): PartTexts {
  const parts = objectsIn(content);
  if (parts.length === 0) return NO_TEXTS;
  return {
    reasoning: join(
      parts
        .filter(isThought)
        .map(({ thinking, text, summary, content: words }) => thinking ?? text ?? summary ?? words),
    ),
    text: join(parts.filter((part) => !isThought(part)).map(({ text }) => text)),
  };
}

/** The text of `reasoning_details`. */
export function textOfDetails(details: unknown): string {
  return join(objectsIn(details).map(({ text, summary }) => text ?? summary));
}

/** A string; anything else is empty. */
export function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isThought({ type }: Readonly<Record<string, unknown>>): boolean {
  return type === 'thinking' || type === 'reasoning' || type === 'reasoning_text';
}

function join(texts: readonly unknown[]): string {
  return texts
    .map((text) => (typeof text === 'string' ? text : join(objectsIn(text).map((part) => part.text))))
    .join('');
}
