import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { contextFrom, contextOf, message, newTenant, recordOf, START } from './records.js';
import { cancelledOf, deltas, endingOf, enqueue, launch, readAll, startRun } from './runs.js';

/** Names that a key made with a separator, a column, an index or a digest might not keep apart. */
const NAMES: Readonly<Record<string, readonly [string, string]>> = {
  blanks: ['a b', 'a  b'],
  'letter case': ['Name', 'name'],
  separators: ['a:b', 'a/b'],
  colons: ['1:a:b', '1:a'],
  NUL: ['a\0', 'a'],
  'NUL and another control character': ['a\0b', 'a\u0001b'],
  'lone surrogates': ['\ud800', '\ud801'],
  'a lone surrogate and what stands in for it': ['\ud800', '\ufffd'],
  'composed and decomposed letters': ['\u00e9', 'e\u0301'],
  'all planes': ['𝔘𝔫𝔦', '𝔘𝔫𝔧'],
  'what PostgreSQL and shells read': [`'; DROP TABLE x; --"{},$1\\`, `'; DROP TABLE x; --"{},$1`],
  'NULL as a word': ['NULL', 'null'],
  'marks of digests': ['#', '##'],
  '256 and 257 characters': ['n'.repeat(256), 'n'.repeat(257)],
  '10 kB that differ at the end': [`${'n'.repeat(10_240)}1`, `${'n'.repeat(10_240)}2`],
  '10 kB of wide characters': [`${'東'.repeat(10_240)}1`, `${'東'.repeat(10_240)}2`],
  nothing: ['', ' '],
};

const LIST = { limit: 10, order: 'asc' } as const;

describe.each(BACKENDS)('odd names in $name', ({ open }) => {
  let opened: OpenedBackend;

  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  describe.each(Object.entries(NAMES))('%s', (_, [name, other]) => {
    it('keep responses apart', async () => {
      const { responses: store } = opened.backend;
      const tenant = newTenant();
      await store.save(tenant, recordOf(name));
      expect(await store.get(tenant, other)).toBeUndefined();
      expect((await store.get(tenant, name))?.id).toBe(name);
      await store.save(tenant, recordOf(other, { parentId: name, sessionId: name }));
      expect(await contextOf(store, tenant, other)).toEqual(contextFrom(name, other));
      expect((await store.chain(tenant, other))?.responseId).toBe(other);
      expect(await store.delete(tenant, name, { cascade: true })).toBe(2);
    });

    it('keep items apart', async () => {
      const { responses: store } = opened.backend;
      const tenant = newTenant();
      const items = [message(name, 'one'), message('between'), message(other, 'other')];
      await store.save(tenant, recordOf('a', { input: items }));
      expect(await store.items(tenant, [name, other])).toEqual(
        new Map([
          [name, items[0]],
          [other, items[2]],
        ]),
      );
      expect((await store.inputItems(tenant, 'a', { ...LIST, after: name }))?.data).toEqual(items.slice(1));
      expect((await store.inputItems(tenant, 'a', { ...LIST, before: other }))?.data).toEqual(items.slice(0, 2));
    });

    it('keep sessions apart', async () => {
      const { responses: store, sessions, graph, locks } = opened.backend;
      const tenant = newTenant();
      await store.save(tenant, recordOf('a', { sessionId: name }));
      await store.save(tenant, recordOf('b', { sessionId: other }));
      expect((await graph.list(tenant, { sessionId: name }, LIST)).data.map(({ id }) => id)).toEqual(['a']);
      expect(await store.get(tenant, 'b', name)).toBeUndefined();
      const lease = await locks.tryAcquire(tenant, name, 1000);
      expect(await locks.tryAcquire(tenant, name, 1000)).toBeUndefined();
      const another = await locks.tryAcquire(tenant, other, 1000);
      expect(another).toBeDefined();
      for (const held of [lease, another]) await held?.release();
      expect(await sessions.delete(tenant, name)).toBe(true);
      expect(await sessions.hasAtLeast(tenant, other, 1)).toBe(true);
    });

    it('keep tenants apart', async () => {
      const { responses: store, graph } = opened.backend;
      await store.save(asTenant(name), recordOf('a', { metadata: { of: 'one' } }));
      expect(await store.get(asTenant(other), 'a')).toBeUndefined();
      expect(await graph.list(asTenant(other), {}, LIST)).toEqual({ data: [], hasMore: false });
      await store.save(asTenant(other), recordOf('a', { metadata: { of: 'other' } }));
      expect((await store.get(asTenant(name), 'a'))?.metadata).toEqual({ of: 'one' });
      expect(await store.delete(asTenant(name), 'a', { cascade: false })).toBe(1);
      expect(await store.delete(asTenant(other), 'a', { cascade: false })).toBe(1);
    });

    it('keep background responses apart', async () => {
      const { responses: store, log } = opened.backend;
      const tenant = newTenant();
      const run = await launch(opened.backend, tenant, name, { sessionId: name });
      expect(await log.read(tenant, other, -1)).toBeUndefined();
      await enqueue(store, tenant, other, { sessionId: other });
      await log.append(run, deltas(3, 4));
      expect((await readAll(log, { tenant, responseId: other })).events).toHaveLength(2);
      expect(await log.read(tenant, other, -1, name)).toBeUndefined();
      expect(await startRun(store, { tenant, responseId: other, attempt: 1 })).toMatchObject({ attempts: 1 });
      await store.conclude(tenant, other, () => cancelledOf(other), {});
      await store.finish(run, endingOf(name, { at: 7 }));
      expect(await store.get(tenant, name)).toMatchObject({ id: name, status: 'completed' });
      expect(await contextOf(store, tenant, name)).toEqual(contextFrom(name));
      expect(await store.get(tenant, other)).toMatchObject({ id: other, status: 'cancelled' });
      expect((await readAll(log, run)).events).toHaveLength(8);
    });

    it('keep the background responses of tenants apart', async () => {
      const { responses: store, log } = opened.backend;
      const [tenant, stranger] = [asTenant(name), asTenant(other)];
      await enqueue(store, tenant, 'background');
      const waiting = async (): Promise<unknown> =>
        (await store.queuedBefore(START + 1, 100)).map((one) => [one.tenant, one.responseId]);
      expect(await waiting()).toContainEqual([tenant, 'background']);
      expect(await log.read(stranger, 'background', -1)).toBeUndefined();
      expect(await store.conclude(stranger, 'background', () => cancelledOf('background'), {})).toBeUndefined();
      await enqueue(store, stranger, 'background');
      expect(await waiting()).toContainEqual([stranger, 'background']);
      expect(await store.delete(tenant, 'background', { cascade: false })).toBe(1);
      expect(await waiting()).toEqual([[stranger, 'background']]);
      expect(await store.delete(stranger, 'background', { cascade: false })).toBe(1);
    });

    it('keep metadata apart', async () => {
      const { responses: store, graph } = opened.backend;
      const tenant = newTenant();
      await store.save(tenant, recordOf('a', { metadata: { [name]: 'v', kind: name }, model: name }));
      await store.save(tenant, recordOf('b', { metadata: { [other]: 'v', kind: other }, model: other }));
      for (const filter of [{ metadata: { [name]: 'v' } }, { metadata: { kind: name } }, { model: name }]) {
        expect((await graph.list(tenant, filter, LIST)).data.map(({ id }) => id)).toEqual(['a']);
      }
    });
  });

  it.each(['#', `#${'x'.repeat(255)}`, `"'{},\\$1;--`, '~'.repeat(256), '!', 'NULL'])(
    'give back the name of session %s',
    async (name) => {
      const { responses: store } = opened.backend;
      const tenant = newTenant();
      await store.save(tenant, recordOf('a', { sessionId: name }));
      expect((await store.chain(tenant, 'a'))?.sessionId).toBe(name);
    },
  );

  it('do not let a tenant and an id be read as another tenant and id', async () => {
    const { responses: store } = opened.backend;
    for (const separator of [' ', ':', '/', '\0', ',']) {
      await store.save(asTenant('a'), recordOf(`b${separator}c`));
      expect(await store.get(asTenant(`a${separator}b`), 'c')).toBeUndefined();
    }
  });
});
