import type { Bench, Start } from '../harness/bench.ts';
import type { Case, Load } from '../harness/case.ts';
import { toQuantile } from '../harness/measure.ts';
import type { Server } from '../harness/processes.ts';
import { toChunk, VECTOR_MODEL } from '../traffic.ts';
import { on } from './programs.ts';

const P95 = 'search, p95, ms';

/** The least that a chunk may have; a line of `toChunk` fills one. */
const CHUNKING = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } } as const;

const VARIABLES = { EMBEDDING_MODEL: VECTOR_MODEL, DOCUMENT_MAX_CHARACTERS: '20000000', DOCUMENT_TIMEOUT_MS: '600000' };

/** The stores of the services that were filled. */
const stores = new WeakMap<Server, string>();

/** The bare engine: a loop over all vectors. */
const engine: Start = (bench) =>
  bench.start('servers/floors.ts', { FLOOR: 'vectors', CHUNKS: String(bench.sizes.chunks) });

async function fill(server: Server, bench: Bench): Promise<void> {
  // Half of what the benchmark imports.
  const { OpenAI, toFile } = await import('openai');
  const client = new OpenAI({ baseURL: `${server.origin}/v1`, apiKey: 'any' });
  const lines = Array.from({ length: bench.sizes.chunks }, (_, index) => toChunk(index));
  const file = await client.files.create({
    ...{ file: await toFile(Buffer.from(lines.join('\n')), 'chunks.txt'), purpose: 'assistants' },
  });
  const { id } = await client.vectorStores.create({});
  const added = await client.vectorStores.files.createAndPoll(
    id,
    { file_id: file.id, chunking_strategy: CHUNKING },
    // By default it looks every five seconds.
    { pollIntervalMs: 200 },
  );
  if (added.status !== 'completed') throw new Error(`the file was not indexed: ${added.last_error?.message}`);
  stores.set(server, id);
}

/** Searches, one after another. */
const search: Load = async (server, bench) => {
  const store = stores.get(server);
  const path = store === undefined ? '/search' : `/v1/vector_stores/${store}/search`;
  const times: number[] = [];
  for (let index = 0; index < bench.sizes.searches; index += 1) {
    const body = JSON.stringify({ query: toChunk(index * 7).slice(0, 60) });
    const headers = { 'content-type': 'application/json' };
    const from = performance.now();
    const answer = await fetch(server.origin + path, { method: 'POST', headers, body });
    const { data } = (await answer.json()) as { readonly data?: readonly unknown[] };
    times.push(performance.now() - from);
    if (data?.length !== 10) throw new Error('a search has not found ten chunks');
  }
  return { [P95]: toQuantile(times, 0.95) };
};

/** Hybrid searches in stores of 10,000 chunks, with what is asked of the embedding model, which answers at once. */
export const VECTOR_SEARCH: readonly Case[] = [
  {
    name: 'vector-search',
    table: 'vector-search',
    shows: [P95],
    prepare: async (server, bench, side) => (side === 'service' ? fill(server, bench) : undefined),
    rows: () =>
      (['memory', 'sqlite', 'postgres'] as const).map((state) => ({
        name: `vector search, ${state}`,
        sides: { service: on(state, VARIABLES), floor: engine },
        load: search,
      })),
  },
];
