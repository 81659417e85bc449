import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import {
  BOOKMARK_MS,
  type Page,
  type PageRequest,
  type StateBackend,
  UnknownCursorError,
} from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { createConversation, listedIn } from '../conversations.js';
import { part } from '../part.js';
import { append, message, newTenant, purge, START } from '../records.js';
import type { TestedState } from '../tested-state.js';

const LONG_MS = 10 * BOOKMARK_MS;

type Give = (page: PageRequest) => Promise<Page<{ readonly id: string }> | undefined>;

/** A list with what it had before some were gone, oldest first. */
interface List {
  readonly name: string;
  readonly of: (backend: StateBackend, tenant: Tenant) => Give;
  readonly ids: string;
}

/** What `plant` saves, each a second after the one before. Capitals are of model `m` and the team `red`. */
const ALL = 'rAbCdEfxGy';
/** What `thin` removes. */
const GONE = 'bCdEfx';

const LISTS: readonly List[] = [
  {
    name: 'all',
    of:
      ({ graph }, tenant) =>
      (page) =>
        graph.list(tenant, {}, page),
    ids: ALL,
  },
  {
    name: 'a session',
    of:
      ({ graph }, tenant) =>
      (page) =>
        graph.list(tenant, { sessionId: 's' }, page),
    ids: 'rAbCdEfG',
  },
  {
    name: 'a fork',
    of:
      ({ graph }, tenant) =>
      (page) =>
        graph.list(tenant, { sessionId: 'fork' }, page),
    ids: 'rAbC',
  },
  {
    name: 'a model, metadata and times',
    of: ({ graph }, tenant) => {
      const times = { createdFrom: START / 1000 + 1, createdBefore: START / 1000 + 8 };
      return (page) =>
        graph.list(tenant, { model: 'm', metadata: { team: 'red' }, statuses: ['completed'], ...times }, page);
    },
    ids: 'ACE',
  },
  {
    name: 'children',
    of:
      ({ graph }, tenant) =>
      (page) =>
        graph.children(tenant, 'r', page),
    ids: 'AbCdEG',
  },
  {
    name: 'children in a session',
    of:
      ({ graph }, tenant) =>
      (page) =>
        graph.children(tenant, 'r', page, 'fork'),
    ids: 'AbC',
  },
  {
    name: 'siblings',
    of:
      ({ graph }, tenant) =>
      (page) =>
        graph.siblings(tenant, 'A', page),
    ids: 'bCdEG',
  },
  {
    name: 'leaves',
    of:
      ({ graph }, tenant) =>
      (page) =>
        graph.leaves(tenant, 'r', page),
    ids: 'AbCEfG',
  },
];

/** The parents of the responses that do not continue `r`. */
const PARENTS: Readonly<Record<string, string | null>> = { r: null, f: 'd', x: null, y: 'x' };

/**
 * `r` with the children `A`, `b`, `C`, `d`, `E` and `G`, where `f` continues `d`; and by itself `x`, which `y` continues. `E` and `f`
 * expire after 1 ms.
 */
async function plant({ backend }: TestedState, tenant: Tenant): Promise<void> {
  for (const [second, id] of Array.from(ALL).entries()) {
    const parentId = PARENTS[id] === undefined ? 'r' : PARENTS[id];
    const isCapital = id === id.toUpperCase();
    await append(backend.responses, tenant, id, {
      parentId,
      sessionId: 'xy'.includes(id) ? 'x' : 's',
      model: isCapital ? 'm' : 'n',
      metadata: isCapital ? { team: 'red', run: id } : null,
      createdAt: START / 1000 + second,
      expiresAt: START + ('Ef'.includes(id) ? 1 : LONG_MS),
    });
  }
  await backend.sessions.fork(tenant, { sourceId: 's', targetId: 'fork', upToResponseId: 'C' });
}

/** Deletes `b`, `C` and `x`, and `d` with what continues it; `E` and `f` expire. */
async function thin({ backend: { responses }, clock }: TestedState, tenant: Tenant): Promise<void> {
  await responses.delete(tenant, 'b', { cascade: false });
  clock.advance(1);
  await responses.delete(tenant, 'C', { cascade: false });
  await responses.delete(tenant, 'x', { cascade: false });
  await responses.delete(tenant, 'd', { cascade: true });
}

async function idsOf(give: Give, page: Partial<PageRequest>): Promise<string> {
  const found = await give({ limit: 100, order: 'asc', ...page });
  return (found?.data ?? []).map(({ id }) => id).join('');
}

async function expectUnknown(give: Give, id: string): Promise<void> {
  for (const order of ['asc', 'desc'] as const) {
    await assert.rejects(idsOf(give, { order, after: id }), UnknownCursorError);
    await assert.rejects(idsOf(give, { order, before: id }), UnknownCursorError);
  }
}

/** Reads a list page by page, and has each page deleted before it asks for the next. */
async function consume(
  give: Give,
  request: Pick<PageRequest, 'limit' | 'order'>,
  remove: (id: string) => Promise<unknown>,
): Promise<readonly string[]> {
  const seen: string[] = [];
  for (let after: string | undefined; ; after = seen.at(-1)) {
    const page = await give({ ...request, ...(after === undefined ? {} : { after }) });
    if (page === undefined) throw new Error('the list is there');
    seen.push(...page.data.map(({ id }) => id));
    for (const { id } of page.data) await remove(id);
    if (!page.hasMore) return seen;
  }
}

/** Lists go on where an entry was that is gone. */
export const GONE_CURSORS = part('graph', 'lists', ({ openOnce, it, describe, open }) => {
  for (const when of ['before', 'after']) {
    describe(`${when} the purge`, () => {
      const tenant = newTenant();
      let opened: TestedState;

      openOnce(async (state) => {
        opened = state;
        await plant(opened, tenant);
        await thin(opened, tenant);
        if (when === 'after') await purge(opened.backend.responses);
      });

      for (const { name, of, ids } of LISTS) {
        describe(`of ${name}`, () => {
          const gone = Array.from(ids).filter((id) => GONE.includes(id));

          for (const id of gone) {
            it(`lists go on where ${id} was`, async () => {
              const give = of(opened.backend, tenant);
              const living = (part: string): string =>
                Array.from(part)
                  .filter((one) => !GONE.includes(one))
                  .join('');
              const [older, newer] = [living(ids.slice(0, ids.indexOf(id))), living(ids.slice(ids.indexOf(id) + 1))];
              const back = (part: string): string => Array.from(part).reverse().join('');
              assert.equal(await idsOf(give, { after: id }), newer);
              assert.equal(await idsOf(give, { after: id, order: 'desc' }), back(older));
              assert.equal(await idsOf(give, { before: id }), older);
              assert.equal(await idsOf(give, { before: id, order: 'desc' }), back(newer));
              assert.equal(await idsOf(give, { after: id, limit: 1 }), newer.slice(0, 1));
              assert.equal(await idsOf(give, { before: id, limit: 1 }), older.slice(-1));
            });
          }

          it('lists do not go on behind what they never had', async () => {
            const give = of(opened.backend, tenant);
            // That `d` was no leaf is not known any more.
            const had = name === 'leaves' ? `${ids}d` : ids;
            const strangers = Array.from(GONE).filter((id) => !had.includes(id));
            for (const id of [...strangers, 'nothing', '', 'b-in', 's']) await expectUnknown(give, id);
          });
        });
      }

      it('lists do not go on behind what another tenant had', async () => {
        const stranger = newTenant();
        await append(opened.backend.responses, stranger, 'own');
        for (const id of GONE) await expectUnknown((page) => opened.backend.graph.list(stranger, {}, page), id);
      });
    });
  }

  it('lists go on for an hour behind what is gone, and no longer', async () => {
    await using opened = await open();
    const { backend, clock } = opened;
    const tenant = newTenant();
    await plant(opened, tenant);
    await thin(opened, tenant);
    await createConversation(backend, tenant, 'talk', 'a', 'b', 'c');
    await backend.conversations.deleteItem(tenant, 'talk', 'b');
    const lists = LISTS.map(({ of }) => of(backend, tenant));
    clock.advance(BOOKMARK_MS - 1);
    await purge(opened.backend.responses);
    for (const give of lists.slice(0, 2)) assert.match(await idsOf(give, { after: 'd' }), /Gy?$/);
    assert.equal(await idsOf((page) => backend.conversations.items(tenant, 'talk', page), { after: 'b' }), 'c');
    clock.advance(1);
    for (const step of [async () => 0, () => purge(opened.backend.responses)]) {
      await step();
      for (const give of lists) for (const id of GONE) await expectUnknown(give, id);
      await expectUnknown((page) => backend.conversations.items(tenant, 'talk', page), 'b');
    }
  });

  for (const [order, limit] of [
    ['asc', 1],
    ['asc', 3],
    ['desc', 1],
    ['desc', 3],
  ] as const) {
    it(`lists give everything once to who deletes what it reads (${order}, ${limit} at once)`, async () => {
      await using opened = await open();
      const { backend } = opened;
      for (const { name, of, ids } of LISTS) {
        const tenant = newTenant();
        await plant(opened, tenant);
        const seen = await consume(of(backend, tenant), { order, limit }, (id) =>
          backend.responses.delete(tenant, id, { cascade: false }),
        );
        const expected = order === 'asc' ? Array.from(ids) : Array.from(ids).reverse();
        // What loses all its continuations becomes a leaf.
        requireAlike(name === 'leaves' ? seen.filter((id) => ids.includes(id)) : seen, expected);
        assert.equal(new Set(seen).size, seen.length);
      }
    });
  }

  it('lists go on in a session that was deleted since, and in none that was not there', async () => {
    await using opened = await open();
    const { backend } = opened;
    const tenant = newTenant();
    await plant(opened, tenant);
    await backend.sessions.delete(tenant, 's');
    const session: Give = (page) => backend.graph.list(tenant, { sessionId: 's' }, page);
    const all: Give = (page) => backend.graph.list(tenant, {}, page);
    assert.equal(await idsOf(session, { after: 'd' }), '');
    assert.equal(await idsOf(all, { after: 'd' }), 'xy');
    assert.equal(await idsOf(all, { before: 'd' }), 'rAbC');
    await expectUnknown((page) => backend.graph.list(tenant, { sessionId: 'fork' }, page), 'd');
  });

  it('lists of a conversation go on where an item was', async () => {
    await using opened = await open();
    const { backend } = opened;
    const [tenant, other] = [newTenant(), newTenant()];
    const { conversations } = backend;
    await createConversation(backend, tenant, 'talk', 'a', 'b', 'c', 'd', 'e');
    await createConversation(backend, tenant, 'small talk', 'x');
    await createConversation(backend, other, 'talk', 'y');
    const talk: Give = (page) => conversations.items(tenant, 'talk', page);
    for (const id of ['a', 'c', 'e']) await conversations.deleteItem(tenant, 'talk', id);
    await purge(opened.backend.responses);
    assert.equal(await idsOf(talk, { after: 'a' }), 'bd');
    assert.equal(await idsOf(talk, { before: 'a' }), '');
    assert.equal(await idsOf(talk, { after: 'c' }), 'd');
    assert.equal(await idsOf(talk, { after: 'c', order: 'desc' }), 'b');
    assert.equal(await idsOf(talk, { before: 'c' }), 'b');
    assert.equal(await idsOf(talk, { before: 'c', order: 'desc' }), 'd');
    assert.equal(await idsOf(talk, { after: 'e' }), '');
    assert.equal(await idsOf(talk, { before: 'e' }), 'bd');
    await expectUnknown(talk, 'nothing');
    await expectUnknown((page) => conversations.items(tenant, 'small talk', page), 'c');
    await expectUnknown((page) => conversations.items(other, 'talk', page), 'c');
    // An item that is added again is a cursor at its new place.
    await conversations.append(tenant, 'talk', [message('a')]);
    assert.equal(await idsOf(talk, { after: 'a' }), '');
    requireAlike(await listedIn(conversations, tenant, 'talk'), ['b', 'd', 'a']);
  });

  for (const order of ['asc', 'desc'] as const) {
    it(`lists of a conversation give everything once to who deletes it (${order})`, async () => {
      await using opened = await open();
      const { backend } = opened;
      const tenant = newTenant();
      const ids = Array.from('abcdefg');
      await createConversation(backend, tenant, 'talk', ...ids);
      const seen = await consume(
        (page) => backend.conversations.items(tenant, 'talk', page),
        { order, limit: 2 },
        (id) => backend.conversations.deleteItem(tenant, 'talk', id),
      );
      requireAlike(seen, order === 'asc' ? ids : ids.toReversed());
    });
  }
});
