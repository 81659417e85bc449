// Slow: writes ten thousand vectors to each database.

import { describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { productOf, type VectorChunk } from '../../src/state/index.js';
import { SeededRandom } from '../../src/simulator/seeded-random.js';
import { BACKENDS } from '../state/backends.js';

const TENANT = asTenant('tests');
const CHUNKS = 10_000;
const PER_DOCUMENT = 100;
const QUERIES = 20;
const BEST = 10;

const DIMENSIONS = 256;
const TOPICS = 50;

/** A vector of length 1 in the neighbourhood of a topic, as texts about one are. */
function near(topic: readonly number[], random: SeededRandom): Float32Array {
  const numbers = topic.map((value) => value + random.pickNormal());
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (value) => value / length);
}

describe.each(BACKENDS.filter(({ without = [] }) => !without.includes('vectors')))('vectors in $name', ({ open }) => {
  it(`a search finds at least 95 % of the ${BEST} nearest of ${CHUNKS} chunks`, async () => {
    await using opened = await open();
    const { vectors } = opened.backend;
    if (vectors === undefined) throw new Error('the backend has no VectorIndex');
    const random = new SeededRandom('recall');
    const draw = (): readonly number[] => Array.from({ length: DIMENSIONS }, () => random.pickNormal());
    const topics = Array.from({ length: TOPICS }, draw);
    const all: Float32Array[] = [];
    for (let document = 0; document < CHUNKS / PER_DOCUMENT; document++) {
      const chunks = Array.from({ length: PER_DOCUMENT }, (_, position): VectorChunk => {
        return { position, text: `chunk ${position}`, vector: near(random.pick(topics), random) };
      });
      all.push(...chunks.map(({ vector }) => vector));
      await vectors.append(TENANT, 'store', `file-${document}`, chunks);
      await vectors.publish(TENANT, 'store', `file-${document}`, { attributes: {}, count: chunks.length });
    }
    let found = 0;
    for (let asked = 0; asked < QUERIES; asked++) {
      const query = near(random.pick(topics), random);
      const scored = all.map((vector, index) => [index, productOf(query, vector) ?? -1] as const);
      const nearest = scored.sort(([, one], [, other]) => other - one).slice(0, BEST);
      const hits = await vectors.nearest(TENANT, query, { storeIds: ['store'], limit: BEST });
      const places = new Set(hits.map(({ fileId, position }) => `${fileId} ${position}`));
      for (const [index] of nearest) {
        if (places.has(`file-${Math.floor(index / PER_DOCUMENT)} ${index % PER_DOCUMENT}`)) found += 1;
      }
    }
    expect(found / (QUERIES * BEST)).toBeGreaterThanOrEqual(0.95);
  });
});
