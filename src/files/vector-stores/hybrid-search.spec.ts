import { describe, expect, it } from '@jest/globals';

import { asTenant } from '../../access/index.js';
import { openMemory } from '../../testing/state/index.js';
import { type HybridQuery, searchHybrid } from './hybrid-search.js';

const TENANT = asTenant('tests');

const at = (degrees: number): Float32Array =>
  Float32Array.of(Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180));

const CHUNKS = [
  ['both', 'a fox in the snow', 1],
  ['near', 'an animal in winter', 0],
  ['word', 'the word fox, far down in a long text about something else', 80],
  ['neither', 'prices of copper', 90],
] as const;

describe('a hybrid search', () => {
  type Asked = Partial<HybridQuery> & { readonly texts?: readonly string[] };
  const search = async ({
    texts = ['fox'],
    ...query
  }: Asked): Promise<readonly (readonly [file: string, score: number])[]> => {
    const { backend } = await openMemory();
    const { vectors } = backend;
    if (vectors === undefined) throw new Error('the backend has no VectorIndex');
    for (const [fileId, text, degrees] of CHUNKS) {
      await vectors.append(TENANT, 'store', fileId, [{ position: 0, text, vector: at(degrees) }]);
      await vectors.publish(TENANT, 'store', fileId, { attributes: { letters: fileId.length }, count: 1 });
    }
    const sought = texts.map((text) => ({ text, vector: at(text === 'copper' ? 90 : 0) }));
    const asked = { storeIds: ['store'], sought, limit: 10, ranker: 'auto' as const, ...query };
    const hits = await searchHybrid(vectors, TENANT, asked);
    return hits.map(({ fileId, score }) => [fileId, Math.round(score * 1000) / 1000]);
  };
  const filesOf = async (query: Asked): Promise<readonly string[]> => (await search(query)).map(([file]) => file);

  it('a hybrid search prefers what is found by vectors and by words', async () => {
    const hits = await search({});
    expect(hits[0]?.[0]).toBe('both');
    expect(hits.map(([, score]) => score)).toEqual(hits.map(([, score]) => score).sort((one, other) => other - one));
    expect(await search({ texts: ['animal'], limit: 1 })).toEqual([['near', 1]]);
  });

  it('a hybrid search gives each chunk its best score of several texts', async () => {
    expect((await search({ texts: ['animal', 'copper'], limit: 2 })).toSorted()).toEqual([
      ['near', 1],
      ['neither', 1],
    ]);
  });

  it('a hybrid search finds no chunks of a document that is replaced while it searches', async () => {
    const { backend } = await openMemory();
    const { vectors } = backend;
    if (vectors === undefined) throw new Error('the backend has no VectorIndex');
    const write = async (text: string): Promise<void> => {
      await vectors.append(TENANT, 'store', 'f', [{ position: 0, text, vector: at(0) }]);
      await vectors.publish(TENANT, 'store', 'f', { attributes: {}, count: 1 });
    };
    await write('old fox');
    const replaced = Promise.withResolvers<null>();
    const [nearest, matching] = [vectors.nearest.bind(vectors), vectors.matching.bind(vectors)];
    vectors.nearest = async (...asked) => {
      const hits = await nearest(...asked);
      await write('new fox');
      replaced.resolve(null);
      return hits;
    };
    vectors.matching = async (...asked) => {
      await replaced.promise;
      return matching(...asked);
    };
    const query = { storeIds: ['store'], sought: [{ text: 'fox', vector: at(0) }], limit: 10, ranker: 'auto' } as const;
    expect((await searchHybrid(vectors, TENANT, query)).map(({ text }) => text)).toEqual(['new fox']);
  });

  it('a hybrid search goes by cosines alone with the ranker none', async () => {
    expect(await search({ ranker: 'none' })).toEqual([
      ['near', 1],
      ['both', 1],
      ['word', 0.174],
      ['neither', 0],
    ]);
  });

  it('a hybrid search leaves out what is below the threshold, and beyond the limit', async () => {
    expect(await filesOf({ ranker: 'none', scoreThreshold: 0.1 })).toEqual(['near', 'both', 'word']);
    expect(await filesOf({ ranker: 'none', limit: 1 })).toEqual(['near']);
  });

  it('a hybrid search weighs words and vectors as it is told', async () => {
    expect((await filesOf({ weights: { vectors: 1, words: 0 } }))[0]).toBe('near');
    expect((await filesOf({ texts: ['copper'], weights: { vectors: 0, words: 1 } }))[0]).toBe('neither');
  });

  it('a hybrid search finds only files that pass the filter', async () => {
    const filter = { type: 'eq', key: 'letters', value: 4 } as const;
    expect((await filesOf({ filter })).toSorted()).toEqual(['both', 'near', 'word']);
    expect(await filesOf({ filter: { ...filter, value: 5 } })).toEqual([]);
  });
});
