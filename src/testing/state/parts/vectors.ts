import type { Tenant } from '../../../access/index.js';
import type { Attributes, ChunkHit, VectorChunk, VectorIndex, VectorStoreRecords } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { part } from '../part.js';
import { newTenant } from '../records.js';
import { DONE, file, store } from './vector-stores.js';

/** A vector of length 1 at an angle, in degrees. */
function at(degrees: number): Float32Array {
  const angle = (degrees * Math.PI) / 180;
  return Float32Array.of(Math.cos(angle), Math.sin(angle));
}

function chunk(position: number, text: string, degrees = 0): VectorChunk {
  return { position, text, vector: at(degrees) };
}

const namesOf = (hits: readonly ChunkHit[]): readonly string[] =>
  hits.map(({ storeId, fileId, position }) => `${storeId}/${fileId}/${position}`);

/** Chunks are found by vectors and words, of published documents of the tenant alone. */
export const VECTORS = part('vectors', 'vectors', ({ share, it }) => {
  let vectors: VectorIndex;
  let records: VectorStoreRecords;
  let tenant: Tenant;

  share(({ backend }, newcomer) => {
    const { vectors: index, vectorStores } = backend;
    if (index === undefined || vectorStores === undefined) throw new Error('the backend has no VectorIndex');
    [vectors, records, tenant] = [index, vectorStores, newcomer];
  });

  async function add(
    storeId: string,
    fileId: string,
    chunks: readonly VectorChunk[],
    attributes: Attributes = {},
    of = tenant,
  ): Promise<void> {
    await vectors.append(of, storeId, fileId, chunks);
    await vectors.publish(of, storeId, fileId, { attributes, count: chunks.length });
  }

  /** Forgets the document of a file, as that is taken out. */
  const remove = async (storeId: string, fileId: string): Promise<void> => {
    if ((await records.get(tenant, storeId)) === undefined) await records.create(tenant, store(storeId), Infinity);
    await records.add(tenant, storeId, [file(storeId, fileId, DONE)], null);
    await records.detach(tenant, storeId, fileId);
  };

  const near = async (degrees: number, storeIds: readonly string[], limit = 10): Promise<readonly string[]> =>
    namesOf(await vectors.nearest(tenant, at(degrees), { storeIds, limit }));
  const find = async (text: string, storeIds: readonly string[], limit = 10): Promise<readonly string[]> =>
    namesOf(await vectors.matching(tenant, text, { storeIds, limit }));

  it('a search finds the nearest vectors, best first, with their cosines', async () => {
    await add('a', 'f', [chunk(0, 'east', 0), chunk(1, 'north', 90), chunk(2, 'between', 40)]);
    const hits = await vectors.nearest(tenant, at(10), { storeIds: ['a'], limit: 2 });
    requireAlike(namesOf(hits), ['a/f/0', 'a/f/2']);
    const cosines = hits.map(({ score, text }) => [text, score.toFixed(3)]);
    requireAlike(cosines, [
      ['east', '0.985'],
      ['between', '0.866'],
    ]);
  });

  it('a search finds the words of a text, rare ones first, whatever else it holds', async () => {
    await add('a', 'f', [chunk(0, 'the red fox'), chunk(1, 'the red hen'), chunk(2, 'nothing'), chunk(3, 'the red')]);
    requireAlike((await find('RED fox!', ['a']))[0], 'a/f/0');
    requireAlike((await find('red', ['a'])).toSorted(), ['a/f/0', 'a/f/1', 'a/f/3']);
    for (const text of ['', '"', 'AND OR NOT', 'x* (', 'scope : s', '\0', 'text:']) {
      requireAlike(await find(text, ['a']), []);
    }
  });

  it('a search searches only the stores and documents that it is asked for', async () => {
    for (const storeId of ['a', 'b', 'c']) await add(storeId, 'f', [chunk(0, 'word')]);
    await add('a', 'g', [chunk(0, 'word')]);
    requireAlike((await near(0, ['a', 'c'])).toSorted(), ['a/f/0', 'a/g/0', 'c/f/0']);
    requireAlike((await find('word', ['a', 'c'])).toSorted(), ['a/f/0', 'a/g/0', 'c/f/0']);
    const [, second] = await vectors.documents(tenant, ['a']);
    const query = { storeIds: ['a', 'b'], documents: [second?.document ?? 0], limit: 10 };
    requireAlike(namesOf(await vectors.nearest(tenant, at(0), query)), ['a/g/0']);
    requireAlike(namesOf(await vectors.matching(tenant, 'word', query)), ['a/g/0']);
    requireAlike([await near(0, []), await find('word', [])], [[], []]);
  });

  it('a search finds nothing of other tenants', async () => {
    const other = newTenant();
    await add('a', 'f', [chunk(0, 'secret')], {}, other);
    await add('a', 'g', [chunk(0, 'open')]);
    requireAlike(await near(0, ['a']), ['a/g/0']);
    requireAlike(await find('secret', ['a']), []);
    requireAlike(await vectors.texts(tenant, 'a', 'f'), []);
    await remove('a', 'f');
    await records.delete(tenant, 'a');
    requireAlike(await near(0, ['a']), []);
    requireAlike(await vectors.texts(other, 'a', 'f'), ['secret']);
  });

  it('a search finds a document once it is published, without what was written of it before', async () => {
    await vectors.append(tenant, 'a', 'f', [chunk(0, 'old zero'), chunk(1, 'old one'), chunk(2, 'old two')]);
    requireAlike([await near(0, ['a']), await find('old', ['a'])], [[], []]);
    requireAlike(await vectors.texts(tenant, 'a', 'f'), []);
    requireAlike(await vectors.describe(tenant, 'a', 'f', { x: 1 }), false);
    await vectors.append(tenant, 'a', 'f', [chunk(0, 'new zero')]);
    for (const text of ['lost', 'new one']) await vectors.append(tenant, 'a', 'f', [chunk(1, text)]);
    requireAlike(await vectors.publish(tenant, 'a', 'f', { attributes: {}, count: 2 }), true);
    requireAlike(await vectors.texts(tenant, 'a', 'f'), ['new zero', 'new one']);
    requireAlike(await find('old lost', ['a']), []);
    requireAlike((await near(0, ['a'])).toSorted(), ['a/f/0', 'a/f/1']);
  });

  it('a search finds a document as it was until all of it is written anew', async () => {
    await add('a', 'f', [chunk(0, 'old zero'), chunk(1, 'old one')], { year: 1 });
    const [before] = await vectors.documents(tenant, ['a']);
    await vectors.append(tenant, 'a', 'f', [chunk(0, 'new zero')]);
    requireAlike(await vectors.publish(tenant, 'a', 'f', { attributes: {}, count: 2 }), false);
    requireAlike([await find('old', ['a']), await find('new', ['a'])], [['a/f/0', 'a/f/1'], []]);
    // The publication that failed has dropped the new chunks.
    requireAlike(await vectors.publish(tenant, 'a', 'f', { attributes: {}, count: 1 }), false);
    await vectors.append(tenant, 'a', 'f', [chunk(0, 'new zero')]);
    requireAlike(await vectors.describe(tenant, 'a', 'f', { year: 2 }), true);
    requireAlike((await vectors.documents(tenant, ['a']))[0]?.attributes, { year: 2 });
    requireAlike(await vectors.publish(tenant, 'a', 'f', { attributes: { year: 3 }, count: 1 }), true);
    requireAlike([await find('old', ['a']), await find('new', ['a'])], [[], ['a/f/0']]);
    const [after, ...others] = await vectors.documents(tenant, ['a']);
    requireAlike([after?.attributes, others], [{ year: 3 }, []]);
    // The numbers of the old and the new document differ, so that a reader that has found chunks of both can tell them apart.
    requireAlike((after?.document ?? 0) > (before?.document ?? Infinity), true);
  });

  it('the index publishes nothing of a document that was forgotten while it was written', async () => {
    await vectors.append(tenant, 'a', 'f', [chunk(0, 'zero')]);
    await remove('a', 'f');
    await vectors.append(tenant, 'a', 'f', [chunk(1, 'one')]);
    requireAlike(await vectors.publish(tenant, 'a', 'f', { attributes: {}, count: 2 }), false);
    requireAlike(await near(0, ['a']), []);
  });

  it('the index lists documents with their attributes, which can be replaced', async () => {
    await add('a', 'f', [chunk(0, 'x')], { year: 2026, draft: true });
    await add('a', 'g', [], { title: 'Empty' });
    requireAlike(await vectors.describe(tenant, 'a', 'f', { year: 2027 }), true);
    const documents = await vectors.documents(tenant, ['a', 'b']);
    const told = documents.map(({ storeId, fileId, attributes }) => [storeId, fileId, attributes]);
    requireAlike(told, [
      ['a', 'f', { year: 2027 }],
      ['a', 'g', { title: 'Empty' }],
    ]);
  });

  it('the index forgets documents and stores', async () => {
    for (const fileId of ['f', 'g', 'h']) await add('a', fileId, [chunk(0, 'word')]);
    await add('b', 'f', [chunk(0, 'word')]);
    await remove('a', 'g');
    await remove('a', 'unknown');
    requireAlike((await find('word', ['a'])).toSorted(), ['a/f/0', 'a/h/0']);
    await records.delete(tenant, 'a');
    requireAlike([await near(0, ['a', 'b']), await find('word', ['a', 'b'])], [['b/f/0'], ['b/f/0']]);
    requireAlike(await vectors.documents(tenant, ['a']), []);
  });

  it('the index frees the room of what it has forgotten a batch at a time, and nothing else', async () => {
    const chunks = Array.from({ length: 300 }, (_, position) => chunk(position, `word ${position}`));
    for (const fileId of ['f', 'g', 'h']) await add('a', fileId, chunks);
    await remove('a', 'f');
    await add('a', 'g', [chunk(0, 'word')]);
    let batches = 1;
    while (await vectors.purge()) batches += 1;
    requireAlike(batches > 1, true);
    requireAlike(await vectors.purge(), false);
    requireAlike((await vectors.texts(tenant, 'a', 'h')).length, 300);
    requireAlike(
      [await near(0, ['a'], 1000), await find('word', ['a'], 1000)].map(({ length }) => length),
      [301, 301],
    );
  });

  it('a search does not find vectors with other dimensions', async () => {
    await add('a', 'f', [{ position: 0, text: 'x', vector: Float32Array.of(1, 0, 0) }, chunk(1, 'y')]);
    requireAlike(await near(0, ['a']), ['a/f/1']);
  });

  it('the index gives back every text and name', async () => {
    const odd = ['\0 a', '\uD800 b', "'; DROP TABLE --", '漢字 ñ'];
    await add(
      's\0é',
      'f"',
      odd.map((text, position) => chunk(position, text)),
      { 'k\0': '\uD800' },
    );
    requireAlike(await vectors.texts(tenant, 's\0é', 'f"'), odd);
    requireAlike(await find('漢字', ['s\0é']), ['s\0é/f"/3']);
    const [document] = await vectors.documents(tenant, ['s\0é']);
    requireAlike([document?.storeId, document?.fileId, document?.attributes], ['s\0é', 'f"', { 'k\0': '\uD800' }]);
  });
});
