import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { ServiceLog } from '../support/service-log.js';
import { type Service, startService } from '../support/service.js';
import { EVERY_STATE } from '../support/state-backends.js';
import { resultsOf } from '../support/usage.js';
import {
  ask,
  damageIn,
  GREETING,
  POLL,
  SECRET,
  send,
  type StoredText,
  upload,
  useDamagedState,
  whenOver,
} from './damage.js';

/** What is in a list, and where one of its entries is stored. */
interface Listed {
  readonly stored: StoredText;
  /** Stores four; resolves with the path of the list and their ids, oldest first. */
  readonly fill: (service: Service) => Promise<readonly [list: string, ids: readonly string[]]>;
}

const RESPONSES: Listed = {
  stored: { column: 'responses.body', redis: { key: (id) => `:r:${id}:body` } },
  fill: async (service) => ['/responses', await four(async () => (await ask(service)).id)],
};

const ITEMS: Listed = {
  stored: {
    column: 'conversation_items.body',
    where: `body LIKE '%"' || $1 || '"%'`,
    redis: { key: () => ':items', entryWith: true },
  },
  fill: async (service) => {
    const { conversations } = service.client();
    const { id } = await conversations.create({});
    const ids = await four(async (index) => {
      const item = { type: 'message', role: 'user', content: `Message ${index}` } as const;
      return (await conversations.items.create(id, { items: [item] })).data[0]?.id ?? '';
    });
    return [`/conversations/${id}/items`, ids];
  },
};

const FILES: Listed = {
  stored: { column: 'files.about' },
  fill: async (service) => ['/files', await four(() => upload(service))],
};

const STORES: Listed = {
  stored: { column: 'vector_stores.about' },
  fill: async (service) => [
    '/vector_stores',
    await four(async () => (await service.client().vectorStores.create({})).id),
  ],
};

const STORE_FILES: Listed = {
  stored: { column: 'vector_store_files.about' },
  fill: async (service) => {
    const { vectorStores } = service.client();
    const { id } = await vectorStores.create({});
    const ids = await four(async () => {
      const fileId = await upload(service);
      await vectorStores.files.createAndPoll(id, { file_id: fileId }, POLL);
      return fileId;
    });
    return [`/vector_stores/${id}/files`, ids];
  },
};

/** The turn of a background response. */
const TURN: StoredText = {
  column: 'runs.turn',
  where: 'response = (SELECT response FROM responses WHERE id = $1)',
  postgres: { column: 'background_runs.turn', where: 'response_id = $1' },
  redis: { key: (id) => `:r:${id}:turn` },
};

/** The input of a response. */
const INPUT: StoredText = {
  column: 'responses.input',
  postgres: { column: 'items.body', where: `response_id = $1 AND kind = 'input'` },
  redis: { key: (id) => `:r:${id}:input` },
};

const DURABLE = EVERY_STATE.filter(({ state }) => state !== 'memory');

describe.each(DURABLE)('a state with damage in $state', (kind) => {
  /** Has a service run no background response but the first one, with SQLite, which no other process can run. */
  const still: Readonly<Record<string, string>> =
    kind.state === 'sqlite'
      ? { BACKGROUND_MAX_RUNNING: '1', SIMULATOR_BACKGROUND_LATENCY: '600000/1', DRAIN_TIMEOUT_MS: '1' }
      : { BACKGROUND_MAX_RUNNING: '0' };
  const usual = {};
  // The other one would run what waits.
  const { prepare, environment } = useDamagedState(kind, [usual, still]);
  const queue = async (service: Service): Promise<string> =>
    (await service.client().responses.create({ ...GREETING, background: true })).id;
  // It keeps the only place of a process that has to run something.
  if (kind.state === 'sqlite') prepare(still, queue, () => []);

  // Redis leaves files to VECTOR_STORE_URL.
  const kinds = [RESPONSES, ITEMS, ...(kind.state === 'redis' ? [] : [FILES, STORES, STORE_FILES])];

  describe('that runs nothing in the background', () => {
    const log = new ServiceLog();
    const service = useService(() =>
      startService({ environment: { ...environment(), ...still }, imports: [log.asModule()] }),
    );

    const lists = (text: string) =>
      prepare(
        usual,
        async (filled) => {
          const found = [];
          for (const { fill, stored } of kinds) found.push([stored, ...(await fill(filled))] as const);
          return found;
        },
        (found) => found.flatMap(([stored, , [, ...ids]]) => ids.slice(0, 2).map((id) => [stored, id, text] as const)),
      );
    it.each([SECRET, '{}', 'null', '[]', '"x"'].map((text) => [text, lists(text)] as const))(
      'records of every kind that are stored as %s take nothing else with them',
      async (_text, found) => {
        for (const [, list, ids] of found()) await expectWhole(service, log, list, ids);
        expect(log.complaints.join('\n')).not.toContain(SECRET);
      },
    );

    const waiting = (stored: StoredText) =>
      prepare(
        still,
        async (filled) => [await queue(filled), await queue(filled)] as const,
        (ids) => ids.map((id) => [stored, id, 'xxxx'] as const),
      );
    it.each([['turn', waiting(TURN)] as const, ['body', waiting(RESPONSES.stored)] as const])(
      'a background response whose %s is damaged can be cancelled and deleted',
      async (_part, ids) => {
        const [cancelled, deleted] = ids();
        expect(await send(service, 'POST', `/responses/${cancelled}/cancel`)).toMatchObject({
          ...{ status: 200, body: { id: cancelled, status: 'cancelled' } },
        });
        expect(await send(service, 'GET', `/responses/${cancelled}`)).toMatchObject({ body: { status: 'cancelled' } });
        expect(await send(service, 'DELETE', `/responses/${deleted}`)).toMatchObject({ status: 200 });
        expect(await send(service, 'GET', `/responses/${deleted}`)).toMatchObject({ status: 404 });
      },
    );

    const ended = prepare(
      usual,
      async (filled) => (await ask(filled)).id,
      (id) => [[RESPONSES.stored, id, SECRET]],
    );
    it('a response that is damaged and was not in the background is named when it is cancelled', async () => {
      const refused = await send(service, 'POST', `/responses/${ended()}/cancel`);
      expect(refused).toMatchObject({ status: 500, body: { error: { code: 'server_error' } } });
      expect(JSON.stringify(refused.body)).toContain(`What is stored of /v1/responses/${ended()} is damaged`);
    });

    const continued = prepare(
      usual,
      async (filled) => (await ask(filled)).id,
      (id) => [[INPUT, id, 'xxxx']],
    );
    it('a response that continues a damaged one is refused, and named', async () => {
      const id = continued();
      const refused = service.client({ maxRetries: 0 }).responses.create({ ...GREETING, previous_response_id: id });
      await expect(refused).rejects.toMatchObject({
        ...{ status: 500, message: expect.stringContaining(`the context up to /v1/responses/${id} is damaged`) },
      });
    });

    // As all ids that begin with a blank.
    const ids = [' msg_0', ' msg_1', ' msg_2', ' msg_3'];
    const digests = prepare(
      usual,
      async (filled) => {
        const { conversations } = filled.client();
        const { id } = await conversations.create({});
        const message = { type: 'message', role: 'user', content: 'Hello' } as const;
        await conversations.items.create(id, { items: ids.map((itemId) => ({ ...message, id: itemId })) });
        return `/conversations/${id}/items`;
      },
      () => ids.slice(1, 3).map((id) => [ITEMS.stored, id, SECRET] as const),
    );
    it('a list goes on behind damaged items whose ids are stored as digests', async () => {
      expect(await pagesOf(service, `${digests()}?limit=1&order=asc`)).toEqual([ids[0], ids[3]]);
      expect(await idsIn(service, `${digests()}?limit=1&order=asc&before=${ids[3]}`)).toEqual([ids[0]]);
    });

    const tree = prepare(
      usual,
      async (filled) => {
        const { id: root } = await ask(filled);
        const { responses } = filled.client();
        return [root, (await responses.create({ ...GREETING, previous_response_id: root })).id] as const;
      },
      ([, id]) => [[RESPONSES.stored, id, SECRET]],
    );
    it('a tree leaves out a damaged response, and says at the one before it that there is more', async () => {
      const [root] = tree();
      expect(await send(service, 'GET', `/responses/${root}/tree`)).toMatchObject({
        ...{ status: 200, body: { root: { id: root, children: { data: [], has_more: true } } } },
      });
    });

    const items = prepare(usual, ITEMS.fill, ([, [id = '']]) => [[ITEMS.stored, id, 'xxxx']]);
    it('a turn of a conversation with a damaged item is refused until the item is deleted', async () => {
      const [list, [id]] = items();
      const conversation = list.split('/')[2] ?? '';
      const turn = () => service.client({ maxRetries: 0 }).responses.create({ ...GREETING, conversation });
      await expect(turn()).rejects.toMatchObject({
        ...{
          status: 500,
          message: expect.stringContaining(`the list of items of /v1/conversations/${conversation} is damaged`),
        },
      });
      await send(service, 'DELETE', `${list}/${id}`);
      expect(await turn()).toMatchObject({ status: 'completed' });
    });

    const redis = { key: () => ':conversation', field: 'metadata' };
    const conversation = prepare(
      usual,
      async (filled) => (await filled.client().conversations.create({})).id,
      (id) => [[{ column: 'conversations.metadata', redis }, id, 'null']],
    );
    it('a conversation whose metadata are damaged is whole again with new ones', async () => {
      const id = conversation();
      expect(await send(service, 'GET', `/conversations/${id}`)).toMatchObject({ status: 500 });
      await service.client().conversations.update(id, { metadata: { topic: 'new' } });
      expect(await send(service, 'GET', `/conversations/${id}`)).toMatchObject({
        body: { metadata: { topic: 'new' } },
      });
    });
  });

  describe('that runs what waits in the background', () => {
    const log = new ServiceLog();
    const service = useService(() => startService({ environment: environment(), imports: [log.asModule()] }));

    const waiting = (stored: StoredText, text: string) => prepare(still, queue, (id) => [[stored, id, text]]);
    it.each([
      ['turn', waiting(TURN, SECRET)] as const,
      ['turn', waiting(TURN, 'null')] as const,
      ['turn', waiting(TURN, '{"jobId":"x","admitted":{}}')] as const,
      ['input', waiting(INPUT, SECRET)] as const,
      ['input', waiting(INPUT, 'null')] as const,
      ['body', waiting(RESPONSES.stored, 'xxxx')] as const,
    ])('a background response whose %s is damaged ends as failed, which is logged once', async (part, prepared) => {
      const id = prepared();
      const ended = await whenOver(service, `/responses/${id}`);
      // Its body is that of its creation: the turn, which is whole, writes another one.
      if (part === 'body') expect(ended).toMatchObject({ id, status: 'completed' });
      else {
        expect(ended).toMatchObject({ id, status: 'failed', error: { code: 'server_error' } });
        expect(ended.error?.message).toContain('is damaged and cannot be read');
        const told = log.complaints.filter((line) => line.includes(id));
        expect(told).toEqual([expect.stringMatching(`The background response ${id} of tenant '.*' ends as failed`)]);
        expect(log.complaints.join('\n')).not.toContain(SECRET);
      }
      expect(await send(service, 'DELETE', `/responses/${id}`)).toMatchObject({ status: 200 });
    });
  });
});

// Redis has sums, whose names say what they are of.
describe.each(DURABLE.filter(({ state }) => state !== 'redis'))('usage with damage in $state', (kind) => {
  const { start, filled, damage } = damageIn(kind);

  it('a report leaves out usage that is damaged, which is logged once', async () => {
    const id = await filled(async (service) => {
      await ask(service);
      return (await ask(service)).id;
    });
    await damage({ column: 'usage.model', where: 'response_id = $1' }, id, SECRET);
    const log = new ServiceLog();
    await using service = await start({ imports: [log.asModule()] });
    for (let asked = 0; asked < 2; asked += 1) expect(await resultsOf(service, 1)).toMatchObject([{ turns: 1 }]);
    await log.written(/^warn .*the usage of/);
    expect(log.complaints.filter((line) => line.includes('is damaged'))).toEqual([
      expect.stringMatching(/^the usage of \d{4}-\d\d-\d\d is damaged: its text is not JSON. Reports leave it out/),
    ]);
  });
});

/** Expects of a list whose second and third entry are damaged that the others are there, and that the second can be named and deleted. */
async function expectWhole(service: Service, log: ServiceLog, list: string, ids: readonly string[]): Promise<void> {
  const [first, second, third, last] = ids;
  // What other tests have stored is there, too.
  const ours = (found: readonly string[]): readonly string[] => found.filter((id) => ids.includes(id));
  // A page of damaged entries only does not end the list.
  for (const [query, wanted] of [
    ['order=asc', [first, last]],
    ['order=desc', [last, first]],
  ] as const) {
    expect(ours(await pagesOf(service, `${list}?limit=1&${query}`))).toEqual(wanted);
  }
  // Files have no `before`.
  if (list !== '/files') expect(await idsIn(service, `${list}?limit=1&order=asc&before=${last}`)).toEqual([first]);
  expect(await idsIn(service, `${list}?limit=1&order=asc&after=${second}`)).toEqual([last]);
  for (const id of [second, third]) {
    expect(log.complaints.filter((line) => line.includes(`DELETE /v1${list}/${id} removes it`))).toHaveLength(1);
  }

  const read = await send(service, 'GET', `${list}/${second}`);
  expect(read).toMatchObject({ status: 500, body: { error: { code: 'server_error' } } });
  expect(JSON.stringify(read.body)).toContain(`What is stored of /v1${list}/${second} is damaged and cannot be read.`);
  expect(await send(service, 'DELETE', `${list}/${second}`)).toMatchObject({ status: 200 });
  expect(await send(service, 'GET', `${list}/${second}`)).toMatchObject({ status: 404 });
  expect(ours(await idsIn(service, `${list}?order=asc&limit=100`))).toEqual([first, last]);
}

async function four(make: (index: number) => Promise<string>): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < 4; index += 1) ids.push(await make(index));
  return ids;
}

/** A page of a list. */
interface ListPage {
  readonly data: readonly { readonly id: string }[];
  readonly has_more: boolean;
  readonly last_id: string | null;
}

async function idsIn(service: Service, path: string): Promise<readonly string[]> {
  const { body } = await send(service, 'GET', path);
  return (body as ListPage).data.map(({ id }) => id);
}

/** The ids on all pages of a list. */
async function pagesOf(service: Service, path: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let after = ''; ;) {
    const { body } = await send(service, 'GET', path + after);
    const { data, has_more: hasMore, last_id: last } = body as ListPage;
    ids.push(...data.map(({ id }) => id));
    if (!hasMore) return ids;
    after = `&after=${last}`;
  }
}
