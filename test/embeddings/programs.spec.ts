import { describe, expect, it } from '@jest/globals';

import { ModelProvider, type ModelInfo } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';

/** The vectors by the names of their models. */
const VECTORS: Readonly<Record<string, Float32Array>> = {
  whole: Float32Array.of(1, 0.5),
  empty: Float32Array.of(),
  infinite: Float32Array.of(1, Infinity),
};

/** A provider of a program, whose models give one vector each. */
@ModelProvider('embedder')
class Embedder extends ScriptedProvider {
  override async models(): Promise<readonly ModelInfo[]> {
    return Object.keys(VECTORS).map((id) => ({ id, ownedBy: 'test', created: 0 }));
  }

  override async embed({ model, inputs }: { readonly model: string; readonly inputs: readonly unknown[] }) {
    return { vectors: inputs.map(() => VECTORS[model] ?? Float32Array.of()), tokens: 1 };
  }
}

describe('embeddings of a provider of the program', () => {
  const service = useService({ providers: [Embedder] });

  it.each([
    ['whole', 200],
    ['empty', 500],
    ['infinite', 500],
  ])('a service answers for a vector of a program that is %s with %d', async (model, status) => {
    expect((await service.api.post('embeddings', { model, input: 'a' })).status).toBe(status);
  });
});
