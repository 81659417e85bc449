import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { Item } from '../../../protocol/index.js';
import type { ResponseRecord, ResponseStore } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { part } from '../part.js';
import { message, recordOf } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** Values that a column type, a driver or a copy might not give back as they were. */
const VALUES: Readonly<Record<string, unknown>> = {
  'members out of order': { z: 1, a: 2, m: { y: 1, b: 2 } },
  'names that are numbers': { 10: 'ten', 9: 'nine', a: 'letter', 1: 'one' },
  'a member named __proto__': JSON.parse(
    '{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}',
  ) as unknown,
  'an empty name': { '': 'nothing' },
  'null, true, false and empty things': [null, true, false, '', [], {}],
  'text of all planes': 'Zürich – 東京 – 𝔘𝔫𝔦 – 👩‍👩‍👧 – e\u0301 – \u200e\ufeff',
  NUL: 'before\0after',
  'lone surrogates': '\ud800 and \udfff and \udc00\ud800',
  'control characters and escapes': '\u0001\b\t\n\r\u001f\u007f\u2028 \\ \\u0000 " \' $1 ::text {a,"b"} %s',
  'NUL in a name': { 'a\0b': '\0' },
  numbers: [0, -1, 1.5, 0.1, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 9007199254740991, -9007199254740993],
  'a very long text': 'long text '.repeat(200_000),
  'what is nested deeply': JSON.parse(`${'['.repeat(1000)}${']'.repeat(1000)}`) as unknown,
};

/** What is saved is given back as it was. */
export const SAVED_RESPONSES = part('responses', 'what is saved', ({ share, it }) => {
  let opened: TestedState;
  let store: ResponseStore;
  let tenant: Tenant;

  share((state, newcomer) => {
    [opened, store, tenant] = [state, state.backend.responses, newcomer];
  });

  /** As text, because that is what clients get: the order of members counts. */
  const textOf = (value: unknown): string => JSON.stringify(value);

  const expectFaithful = async (record: ResponseRecord): Promise<void> => {
    const { response, input } = record;
    await store.save(tenant, record);
    const page = await store.inputItems(tenant, response.id, { limit: 100, order: 'asc' });
    const all = [...input, ...response.output];
    const found = await store.items(
      tenant,
      all.map(({ id }) => id),
    );
    assert.equal(textOf(await store.get(tenant, response.id)), textOf(response));
    assert.equal(textOf(page?.data), textOf(input));
    assert.equal(textOf((await store.chain(tenant, response.id))?.items), textOf(all));
    for (const item of all) assert.equal(textOf(found.get(item.id)), textOf(item));
  };

  for (const name of Object.keys(VALUES)) {
    it(`the storage gives back ${name}`, async () => {
      const item = (id: string): Item => ({ type: 'unheard_of', id, content: VALUES[name] });
      await expectFaithful(
        recordOf('a', {
          input: [item('in')],
          output: [item('out')],
          metadata: { text: typeof VALUES[name] === 'string' ? VALUES[name].slice(0, 512) : 'none' },
          members: { instructions: VALUES[name] },
        }),
      );
    });
  }

  for (const status of ['completed', 'incomplete', 'failed', 'cancelled'] as const) {
    it(`the storage keeps a response that is ${status}`, async () => {
      const { response } = recordOf('a', { status });
      await store.save(tenant, recordOf('a', { status }));
      requireAlike(await store.get(tenant, 'a'), response);
    });
  }

  it('the storage keeps the place of the output among the members of a response', async () => {
    const { response } = recordOf('a', { members: { usage: { total_tokens: 3 } } });
    await store.save(tenant, recordOf('a', { members: { usage: { total_tokens: 3 } } }));
    requireAlike(Object.keys((await store.get(tenant, 'a')) ?? {}), Object.keys(response));
  });

  it('the storage keeps responses without input, without output and without metadata', async () => {
    await expectFaithful(recordOf('no-input', { input: [] }));
    await expectFaithful(recordOf('no-output', { output: [], metadata: null }));
    await expectFaithful(recordOf('nothing', { input: [], output: [], metadata: {} }));
  });

  it('the storage keeps many items in order', async () => {
    const items = (prefix: string): Item[] => Array.from({ length: 50 }, (_, index) => message(`${prefix}-${index}`));
    await expectFaithful(recordOf('a', { input: items('in').reverse(), output: items('out') }));
  });

  it('the storage keeps what a turn was given as it was', async () => {
    const given = Object.entries(VALUES).map(([name, content], after) => ({
      after,
      items: [{ type: 'unheard_of', id: name, content } satisfies Item],
    }));
    await store.save(tenant, recordOf('a', { input: [], output: [], given }));
    const chain = await store.chain(tenant, 'a');
    assert.equal(textOf(chain?.items), textOf(given.flatMap(({ items }) => items)));
  });

  it('the storage does not notice when the same record is saved twice', async () => {
    const root = recordOf('root');
    const child = recordOf('child', { parentId: 'root', sessionId: 'root' });
    for (const record of [root, root, child, child]) await store.save(tenant, record);
    const page = { limit: 100, order: 'asc' } as const;
    const list = await opened.backend.graph.list(tenant, {}, page);
    const children = await opened.backend.graph.children(tenant, 'root', page);
    requireAlike(
      list.data.map(({ id }) => id),
      ['child', 'root'],
    );
    requireAlike(
      children?.data.map(({ id }) => id),
      ['child'],
    );
    assert.equal(await store.delete(tenant, 'root', { cascade: true }), 2);
    requireAlike(await opened.backend.graph.list(tenant, {}, page), { data: [], hasMore: false });
  });

  it('the storage knows nothing that nobody saved', async () => {
    assert.equal(await store.get(tenant, 'nothing'), undefined);
    assert.equal(await store.chain(tenant, 'nothing'), undefined);
    assert.equal(await store.inputItems(tenant, 'nothing', { limit: 1, order: 'asc' }), undefined);
    requireAlike(await store.items(tenant, ['nothing']), new Map());
    assert.equal(await store.delete(tenant, 'nothing', { cascade: false }), 0);
    assert.equal(await store.delete(tenant, 'nothing', { cascade: true }), 0);
  });

  it('a response can be saved, as far as anybody knows', async () => {
    await store.check();
    await store.expectSave();
  });
});
