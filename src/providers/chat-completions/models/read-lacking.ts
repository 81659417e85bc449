import { isObject, objectsIn } from '../../../validation/index.js';
import type { Capabilities } from '../capabilities.js';

type Members = Readonly<Record<string, unknown>>;

/** Capabilities that a model does not have, whatever its server supports. */
export type Lacking = Partial<Record<keyof Pick<Capabilities, 'images' | 'audio'>, false>>;

const TEXT_ONLY: Lacking = { images: false, audio: false };

/** Reads what an entry of `GET /models` says that its model cannot read: `architecture.input_modalities` of OpenRouter. */
export function readLacking({ architecture }: Members): Lacking {
  const modalities = isObject(architecture) ? architecture.input_modalities : undefined;
  if (!Array.isArray(modalities)) return {};
  return {
    ...(modalities.includes('image') ? {} : { images: false }),
    ...(modalities.includes('audio') ? {} : { audio: false }),
  };
}

/**
 * What llama.cpp says of its models in a second list, by their names: `multimodal` is missing in the `capabilities` of those that
 * read text only.
 */
export function readTextOnly(answer: unknown): ReadonlyMap<unknown, Lacking> {
  const models = objectsIn(isObject(answer) ? answer.models : undefined);
  const textOnly = models.filter(({ capabilities: has }) => {
    return Array.isArray(has) && has.includes('completion') && !has.includes('multimodal');
  });
  return new Map(textOnly.map(({ name, model }) => [model ?? name, TEXT_ONLY]));
}
