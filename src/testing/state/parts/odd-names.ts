import assert from 'node:assert/strict';

import { asTenant } from '../../../access/index.js';
import { requireAlike, requireEntry, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { contextFrom, contextOf, message, newTenant, recordOf, START } from '../records.js';
import { cancelledOf, deltas, endingOf, enqueue, launch, readAll, startRun } from '../runs.js';
import type { TestedState } from '../tested-state.js';

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

/** Names of any characters and lengths are told apart. */
export const ODD_NAMES = part('responses', 'odd names', ({ openOnce, it, describe }) => {
  let opened: TestedState;

  openOnce((state) => (opened = state));

  for (const [title, [name, other]] of Object.entries(NAMES)) {
    describe(title, () => {
      it('responses of odd names are kept apart', async () => {
        const { responses: store } = opened.backend;
        const tenant = newTenant();
        await store.save(tenant, recordOf(name));
        assert.equal(await store.get(tenant, other), undefined);
        assert.equal((await store.get(tenant, name))?.id, name);
        await store.save(tenant, recordOf(other, { parentId: name, sessionId: name }));
        requireAlike(await contextOf(store, tenant, other), contextFrom(name, other));
        assert.equal((await store.chain(tenant, other))?.responseId, other);
        assert.equal(await store.delete(tenant, name, { cascade: true }), 2);
      });

      it('items of odd names are kept apart', async () => {
        const { responses: store } = opened.backend;
        const tenant = newTenant();
        const items = [message(name, 'one'), message('between'), message(other, 'other')];
        await store.save(tenant, recordOf('a', { input: items }));
        requireAlike(
          await store.items(tenant, [name, other]),
          new Map([
            [name, items[0]],
            [other, items[2]],
          ]),
        );
        requireAlike((await store.inputItems(tenant, 'a', { ...LIST, after: name }))?.data, items.slice(1));
        requireAlike((await store.inputItems(tenant, 'a', { ...LIST, before: other }))?.data, items.slice(0, 2));
      });

      it('sessions of odd names are kept apart', async () => {
        const { responses: store, sessions, graph, locks } = opened.backend;
        const tenant = newTenant();
        await store.save(tenant, recordOf('a', { sessionId: name }));
        await store.save(tenant, recordOf('b', { sessionId: other }));
        requireAlike(
          (await graph.list(tenant, { sessionId: name }, LIST)).data.map(({ id }) => id),
          ['a'],
        );
        assert.equal(await store.get(tenant, 'b', name), undefined);
        const lease = await locks.tryAcquire(tenant, name, 1000);
        assert.equal(await locks.tryAcquire(tenant, name, 1000), undefined);
        const another = await locks.tryAcquire(tenant, other, 1000);
        assert.notEqual(another, undefined);
        for (const held of [lease, another]) await held?.release();
        assert.equal(await sessions.delete(tenant, name), true);
        assert.equal(await sessions.hasAtLeast(tenant, other, 1), true);
      });

      it('tenants of odd names are kept apart', async () => {
        const { responses: store, graph } = opened.backend;
        await store.save(asTenant(name), recordOf('a', { metadata: { of: 'one' } }));
        assert.equal(await store.get(asTenant(other), 'a'), undefined);
        requireAlike(await graph.list(asTenant(other), {}, LIST), { data: [], hasMore: false });
        await store.save(asTenant(other), recordOf('a', { metadata: { of: 'other' } }));
        requireAlike((await store.get(asTenant(name), 'a'))?.metadata, { of: 'one' });
        assert.equal(await store.delete(asTenant(name), 'a', { cascade: false }), 1);
        assert.equal(await store.delete(asTenant(other), 'a', { cascade: false }), 1);
      });

      it('background responses of odd names are kept apart', async () => {
        const { responses: store, runs, log } = opened.backend;
        const tenant = newTenant();
        const run = await launch(opened.backend, tenant, name, { sessionId: name });
        assert.equal(await log.read(tenant, other, -1), undefined);
        await enqueue(runs, tenant, other, { sessionId: other });
        await log.append(run, deltas(3, 4));
        assert.equal((await readAll(log, { tenant, responseId: other })).events.length, 2);
        assert.equal(await log.read(tenant, other, -1, name), undefined);
        requireMatch(await startRun(runs, { tenant, responseId: other, attempt: 1 }), { attempts: 1 });
        await runs.conclude(tenant, other, () => cancelledOf(other), {});
        await runs.finish(run, endingOf(name, { at: 7 }));
        requireMatch(await store.get(tenant, name), { id: name, status: 'completed' });
        requireAlike(await contextOf(store, tenant, name), contextFrom(name));
        requireMatch(await store.get(tenant, other), { id: other, status: 'cancelled' });
        assert.equal((await readAll(log, run)).events.length, 8);
      });

      it('the background responses of tenants with odd names are kept apart', async () => {
        const { responses: store, runs, log } = opened.backend;
        const [tenant, stranger] = [asTenant(name), asTenant(other)];
        await enqueue(runs, tenant, 'background');
        const waiting = async (): Promise<readonly unknown[]> =>
          (await runs.queuedBefore(START + 1, 100)).map((one) => [one.tenant, one.responseId]);
        requireEntry(await waiting(), [tenant, 'background']);
        assert.equal(await log.read(stranger, 'background', -1), undefined);
        assert.equal(await runs.conclude(stranger, 'background', () => cancelledOf('background'), {}), undefined);
        await enqueue(runs, stranger, 'background');
        requireEntry(await waiting(), [stranger, 'background']);
        assert.equal(await store.delete(tenant, 'background', { cascade: false }), 1);
        requireAlike(await waiting(), [[stranger, 'background']]);
        assert.equal(await store.delete(stranger, 'background', { cascade: false }), 1);
      });

      it('metadata of odd names is kept apart', async () => {
        const { responses: store, graph } = opened.backend;
        const tenant = newTenant();
        await store.save(tenant, recordOf('a', { metadata: { [name]: 'v', kind: name }, model: name }));
        await store.save(tenant, recordOf('b', { metadata: { [other]: 'v', kind: other }, model: other }));
        for (const filter of [{ metadata: { [name]: 'v' } }, { metadata: { kind: name } }, { model: name }]) {
          requireAlike(
            (await graph.list(tenant, filter, LIST)).data.map(({ id }) => id),
            ['a'],
          );
        }
      });
    });
  }

  for (const name of ['#', `#${'x'.repeat(255)}`, `"'{},\\$1;--`, '~'.repeat(256), '!', 'NULL']) {
    it(`the name of session ${name} is given back`, async () => {
      const { responses: store } = opened.backend;
      const tenant = newTenant();
      await store.save(tenant, recordOf('a', { sessionId: name }));
      assert.equal((await store.chain(tenant, 'a'))?.sessionId, name);
    });
  }

  it('odd names do not let a tenant and an id be read as another tenant and id', async () => {
    const { responses: store } = opened.backend;
    for (const separator of [' ', ':', '/', '\0', ',']) {
      await store.save(asTenant('a'), recordOf(`b${separator}c`));
      assert.equal(await store.get(asTenant(`a${separator}b`), 'c'), undefined);
    }
  });
});
