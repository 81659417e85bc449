import type { Annotation } from '../../../protocol/index.js';
import { isObject, objectsIn } from '../../../validation/index.js';
import type { ChatDelta } from './chat-chunk.js';

/** The output text and the reasoning of a delta. */
export interface DeltaTexts {
  readonly reasoning: string;
  readonly text: string;
}

/** Reads the texts of a delta. Content is a string, or parts of which some are reasoning. */
export function readTexts({ content, reasoning_content: own, reasoning: other, ...delta }: ChatDelta): DeltaTexts {
  // Some upstreams repeat the same reasoning in several members.
  const thought = nonEmpty(own) ?? nonEmpty(other) ?? detailsOf(delta);
  if (typeof content === 'string') return { reasoning: thought, text: content };
  const parts = objectsIn(content);
  return {
    reasoning: thought + join(parts.filter(isThought).map(({ thinking, text }) => thinking ?? text)),
    text: join(parts.filter((part) => !isThought(part)).map(({ text }) => text)),
  };
}

/** URL citations of a delta in the form of the Responses API. */
export function readAnnotations({ annotations }: ChatDelta): readonly Annotation[] {
  return objectsIn(annotations).flatMap(({ type, url_citation: citation }) => {
    if (type !== 'url_citation' || !isObject(citation) || typeof citation.url !== 'string') return [];
    const { url, title, start_index: start, end_index: end } = citation;
    return [
      {
        type,
        url,
        title: typeof title === 'string' ? title : '',
        start_index: Number(start ?? 0),
        end_index: Number(end ?? 0),
      },
    ];
  });
}

function detailsOf({ reasoning_details: details }: ChatDelta): string {
  return join(objectsIn(details).map(({ text, summary }) => text ?? summary));
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isThought({ type }: Readonly<Record<string, unknown>>): boolean {
  return type === 'thinking' || type === 'reasoning';
}

function join(texts: readonly unknown[]): string {
  return texts
    .map((text) => (typeof text === 'string' ? text : join(objectsIn(text).map((part) => part.text))))
    .join('');
}
