import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { toFile } from 'openai';

import { simulateEmbeddings } from '../../src/simulator/simulated-embeddings.js';
import { FakeMcpServer, FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';

/** A service that runs the tools of an MCP server, searches the web and has a vector store, in front of a scripted model. */
export async function useToolService() {
  const shop = await FakeMcpServer.start([
    { name: 'look', description: 'Looks.', annotations: { readOnlyHint: true }, handler: () => 'Three left.' },
    { name: 'buy', description: 'Buys.', handler: () => 'Bought.' },
  ]);
  const engine = await FakeSearxng.start([{ title: 'Tides', url: 'https://tides.example/', content: 'High at nine.' }]);
  const service = useService(
    () =>
      startService({
        providers: [ScriptedProvider],
        environment: { WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url, MCP_CLIENT_URLS: 'any' },
      }) as never,
  );
  const ids = { store: '' };

  beforeAll(async () => {
    service.provider.embed = async (request) => simulateEmbeddings(request);
    const { vectorStores, files } = service.client();
    const file = await toFile(Buffer.from('Employees have thirty days of leave a year.'), 'leave.txt');
    const { id } = await files.create({ file, purpose: 'assistants' });
    ids.store = (await vectorStores.create({ name: 'Rules' })).id;
    await vectorStores.files.createAndPoll(ids.store, { file_id: id }, { pollIntervalMs: 5 });
  });

  beforeEach(() => {
    service.provider.turns.length = 0;
    shop.requests.length = 0;
  });

  afterAll(() => Promise.all([shop.close(), engine.close()]));

  /** What the model read last. */
  const context = () => service.provider.turns.at(-1)?.context ?? [];

  return { service, shop, ids, context };
}
