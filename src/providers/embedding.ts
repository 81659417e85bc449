import { ModelError } from './model-error.js';

/** A text, or the tokens of one. */
export type EmbeddingInput = string | readonly number[];

/** Inputs to embed, for one call of a provider. */
export interface EmbeddingRequest {
  /** The provider's name of the model. */
  readonly model: string;
  /** At least one, and at most as many as the provider's `embeddingBatch`. */
  readonly inputs: readonly EmbeddingInput[];
  /** Numbers of a vector; absent: as many as the model gives. */
  readonly dimensions?: number;
  /** The end user, for the upstream. */
  readonly user?: string;
}

/** The vectors of inputs. */
export interface Embeddings {
  /** One for each input, in their order, all of the same length. */
  readonly vectors: readonly Float32Array[];
  /** Tokens of all inputs. */
  readonly tokens: number;
}

/** The most inputs of a request, as of OpenAI. */
export const MOST_EMBEDDING_INPUTS = 2048;

/** The 400 for a model that embeds nothing. */
export function cannotEmbed(model: string): ModelError {
  return new ModelError('unsupported_value', `The model '${model}' does not give embeddings.`, {
    status: 400,
    param: 'model',
  });
}
