import { beforeAll, describe, expect, it } from '@jest/globals';
import { toFile } from 'openai';

import { Reranker, type RerankOptions } from '../../src/index.js';
import { simulateEmbeddings } from '../../src/simulator/simulated-embeddings.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';

/** Prefers short texts. */
class ShortFirst extends Reranker {
  readonly asked: { readonly question: string; readonly texts: readonly string[]; readonly tenant: string }[] = [];

  override async rank(
    question: string,
    texts: readonly string[],
    { tenant }: RerankOptions,
  ): Promise<readonly number[]> {
    this.asked.push({ question, texts, tenant });
    return texts.map(({ length }) => 1 / length);
  }
}

const reranker = new ShortFirst();
const service = useService(
  () =>
    startService({
      providers: [ScriptedProvider],
      reranker: { useValue: reranker },
      environment: { QUERY_MODEL: 'rewriter', API_KEYS: 'ada:test' },
    }) as never,
);

const LONG = 'Bees dance in the hive to show where the flowers are.';
const SHORT = 'Bees fly.';
let storeId = '';

beforeAll(async () => {
  service.provider.embed = async (request) => simulateEmbeddings(request);
  const { vectorStores } = service.client();
  storeId = (await vectorStores.create({})).id;
  const files = await Promise.all([LONG, SHORT].map((text) => toFile(Buffer.from(text), 'a.txt')));
  await vectorStores.fileBatches.uploadAndPoll(storeId, { files }, { pollIntervalMs: 5 });
});

describe('a search of a vector store', () => {
  it('a search of a vector store has the scores that the reranker of the program gives', async () => {
    const { data } = await service
      .client()
      .vectorStores.search(storeId, { query: ['bees', 'dance'], max_num_results: 1 });
    expect(data).toMatchObject([{ score: 1 / SHORT.length, content: [{ text: SHORT }] }]);
    expect(reranker.asked).toMatchObject([{ question: 'bees\ndance', tenant: 'ada' }]);
    expect([...(reranker.asked[0]?.texts ?? [])].sort()).toEqual([LONG, SHORT].sort());
    const threshold = { query: 'bees', ranking_options: { score_threshold: 0.1 } };
    expect((await service.client().vectorStores.search(storeId, threshold)).data).toHaveLength(1);
  });

  it('a search of a vector store asks QUERY_MODEL for its query when the request says so, in a turn that is not stored', async () => {
    service.provider.reply({ type: 'text', delta: ' flowers hive \n' });
    const answer = await service
      .client()
      .vectorStores.search(storeId, { query: 'Could you tell me where they dance?', rewrite_query: true })
      .asResponse();
    expect(await answer.json()).toMatchObject({ search_query: ['flowers hive'] });
    expect(reranker.asked.at(-1)).toMatchObject({ question: 'flowers hive' });
    const [turn] = service.provider.turns;
    expect(turn?.settings).toMatchObject({ model: 'rewriter', store: false });
    const listed = (await (
      await fetch(`${service.baseURL}/responses`, { headers: { authorization: 'Bearer test' } })
    ).json()) as { readonly data: readonly unknown[] };
    expect(listed.data).toEqual([]);
  });
});
