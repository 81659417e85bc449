import type { ResponseFilter, ResponseGraph } from '../../../state/index.js';
import { requireAlike, requireEntry } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, newTenant, type RecordParts, START } from '../records.js';
import type { TestedState } from '../tested-state.js';

const NOW = START / 1000;

/** What is in the list, oldest first. */
const RESPONSES: Readonly<Record<string, RecordParts>> = {
  a: { createdAt: NOW, sessionId: 'one', model: 'small', metadata: { team: 'red', run: '1' } },
  b: { createdAt: NOW + 1, sessionId: 'one', model: 'large', status: 'incomplete', metadata: { team: 'red' } },
  c: { createdAt: NOW + 2, sessionId: 'two', model: 'small', status: 'failed', metadata: null },
  d: { createdAt: NOW + 3, sessionId: 'two', model: 'large', metadata: { team: 'blue', run: '1' } },
  e: { createdAt: NOW + 4, sessionId: 'two', model: 'small', status: 'cancelled', metadata: { red: 'team' } },
};

/** The list of responses by every filter, in both orders. */
export const RESPONSE_LIST = part('graph', 'the list of responses', ({ openOnce, it }) => {
  const tenant = newTenant();
  let opened: TestedState;
  let graph: ResponseGraph;

  openOnce(async (state) => {
    opened = state;
    ({ graph } = opened.backend);
    // Not in their order.
    for (const id of ['c', 'a', 'e', 'd', 'b']) await append(opened.backend.responses, tenant, id, RESPONSES[id]);
    await opened.backend.sessions.fork(tenant, { sourceId: 'one', targetId: 'fork', upToResponseId: 'a' });
    await append(opened.backend.responses, newTenant(), 'foreign', RESPONSES['a']);
  });

  const idsOf = async (filter: ResponseFilter, order: 'asc' | 'desc'): Promise<readonly string[]> =>
    (await graph.list(tenant, filter, { limit: 10, order })).data.map(({ id }) => id);

  for (const [title, filter, ids] of [
    ['everything', {}, 'abcde'],
    ['a session', { sessionId: 'two' }, 'cde'],
    ['a session of shared responses', { sessionId: 'fork' }, 'a'],
    ['a session that is not there', { sessionId: 'three' }, ''],
    ['a model', { model: 'small' }, 'ace'],
    ['a model by its whole name', { model: 'smal' }, ''],
    ['completed ones', { statuses: ['completed'] }, 'ad'],
    ['incomplete ones', { statuses: ['incomplete'] }, 'b'],
    ['failed ones', { statuses: ['failed'] }, 'c'],
    ['cancelled ones', { statuses: ['cancelled'] }, 'e'],
    ['those of either of two statuses', { statuses: ['failed', 'completed'] }, 'acd'],
    ['those of two statuses and a model', { model: 'small', statuses: ['completed', 'incomplete'] }, 'a'],
    ['running ones, which are not stored', { statuses: ['in_progress'] }, ''],
    ['a pair of metadata', { metadata: { team: 'red' } }, 'ab'],
    ['two pairs of metadata', { metadata: { run: '1', team: 'red' } }, 'a'],
    ['metadata by name and value', { metadata: { red: 'team' } }, 'e'],
    ['metadata with a value that nobody has', { metadata: { team: 'green' } }, ''],
    ['metadata with a name that nobody has', { metadata: { unknown: 'red' } }, ''],
    ['metadata with a name that objects have', { metadata: { constructor: 'red' } }, ''],
    ['no metadata in particular', { metadata: {} }, 'abcde'],
    ['a time from, inclusive', { createdFrom: NOW + 3 }, 'de'],
    ['a time to, exclusive', { createdBefore: NOW + 2 }, 'ab'],
    ['a time from and to', { createdFrom: NOW + 1, createdBefore: NOW + 4 }, 'bcd'],
    ['no time at all', { createdFrom: NOW + 2, createdBefore: NOW + 2 }, ''],
    ['the beginning of time', { createdFrom: 0, createdBefore: 1 }, ''],
    ['the end of time', { createdFrom: 8_640_000_000_000 }, ''],
    ['all time', { createdFrom: 0, createdBefore: 8_640_000_000_000 }, 'abcde'],
    ['a session and a model', { sessionId: 'one', model: 'large' }, 'b'],
    ['a session and a status', { sessionId: 'two', statuses: ['completed'] }, 'd'],
    ['a session and metadata', { sessionId: 'two', metadata: { run: '1' } }, 'd'],
    ['a session and a time', { sessionId: 'two', createdFrom: NOW + 3, createdBefore: NOW + 4 }, 'd'],
    ['a model and a status', { model: 'small', statuses: ['failed'] }, 'c'],
    ['a model and metadata', { model: 'large', metadata: { team: 'red' } }, 'b'],
    [
      'everything at once',
      { sessionId: 'one', model: 'small', statuses: ['completed'], metadata: { team: 'red' }, createdFrom: NOW },
      'a',
    ],
    [
      'everything at once, one of it wrong',
      { sessionId: 'one', model: 'small', statuses: ['completed'], metadata: { team: 'blue' }, createdFrom: NOW },
      '',
    ],
  ] as const) {
    it(`the list of responses shows ${title}`, async () => {
      const expected = Object.keys(RESPONSES).filter((id) => ids.includes(id));
      requireAlike(await idsOf(filter, 'asc'), expected);
      requireAlike(await idsOf(filter, 'desc'), expected.toReversed());
    });
  }

  it('the list of responses shows whole responses', async () => {
    const { data } = await graph.list(tenant, {}, { limit: 10, order: 'asc' });
    for (const response of data) requireAlike(response, await opened.backend.responses.get(tenant, response.id));
  });

  it('the list of responses orders by id what was created in the same second', async () => {
    const other = newTenant();
    for (const id of ['m', 'k', 'n', 'l']) await append(opened.backend.responses, other, id);
    const { data } = await graph.list(other, {}, { limit: 10, order: 'desc' });
    requireAlike(
      data.map(({ id }) => id),
      ['n', 'm', 'l', 'k'],
    );
  });

  it('the list of responses is empty for a tenant who has nothing', async () => {
    requireAlike(await graph.list(newTenant(), {}, { limit: 10, order: 'asc' }), { data: [], hasMore: false });
  });

  it('a response has the metadata that it was given last, and is listed by them alone', async () => {
    const { responses } = opened.backend;
    const own = newTenant();
    const metadata = { team: 'red', run: '\0 2' };
    for (const id of ['a', 'b']) await append(responses, own, id, { sessionId: 'one', metadata: { team: 'blue' } });
    const before = await responses.get(own, 'a');
    const updated = await responses.updateMetadata(own, 'a', metadata, 'one');
    requireAlike(updated, { ...before, metadata });
    requireAlike(await responses.get(own, 'a'), updated);
    const page = { limit: 10, order: 'asc' } as const;
    const listed = async (filter: ResponseFilter): Promise<string> =>
      (await graph.list(own, filter, page)).data.map(({ id }) => id).join('');
    requireAlike(await listed({ metadata }), 'a');
    requireAlike(await listed({ metadata: { team: 'blue' } }), 'b');
    requireAlike(await listed({}), 'ab');
    requireAlike(await contextOf(responses, own, 'a'), contextFrom('a'));
    await responses.updateMetadata(own, 'a', {});
    requireAlike(await listed({ metadata: { team: 'red' } }), '');
    requireAlike((await responses.get(own, 'a'))?.metadata, {});
  });

  it('a response that gets metadata from many at once has those of one of them, and is listed by them', async () => {
    const { responses } = opened.backend;
    const own = newTenant();
    await append(responses, own, 'a', { metadata: { run: 'first' } });
    const runs = Array.from({ length: 8 }, (_, index) => `${index}`);
    await Promise.all(runs.map((run) => responses.updateMetadata(own, 'a', { run, [run]: run })));
    const run = (await responses.get(own, 'a'))?.metadata?.['run'] ?? '';
    requireEntry(runs, run);
    requireAlike((await responses.get(own, 'a'))?.metadata, { run, [run]: run });
    for (const other of ['first', ...runs]) {
      const { data } = await graph.list(own, { metadata: { run: other } }, { limit: 10, order: 'asc' });
      requireAlike(data.length, other === run ? 1 : 0);
    }
  });

  it('a response that gets metadata while it is deleted is not there afterwards', async () => {
    const { responses } = opened.backend;
    const own = newTenant();
    for (const id of ['a', 'b', 'c', 'd']) {
      await append(responses, own, id);
      const update = (): Promise<unknown> => responses.updateMetadata(own, id, { team: 'red' });
      await Promise.all([update(), responses.delete(own, id, { cascade: false }), update()]);
      requireAlike(await responses.get(own, id), undefined);
      requireAlike(await update(), undefined);
    }
    requireAlike((await graph.list(own, { metadata: { team: 'red' } }, { limit: 10, order: 'asc' })).data, []);
    requireAlike((await graph.list(own, {}, { limit: 10, order: 'asc' })).data, []);
  });

  it('a response gets no other metadata when it is not there, was deleted, has failed, or is of another session', async () => {
    const { responses } = opened.backend;
    const own = newTenant();
    await append(responses, own, 'failed', { status: 'failed' });
    for (const id of ['kept', 'gone']) await append(responses, own, id, { sessionId: 'one' });
    await responses.delete(own, 'gone', { cascade: false });
    for (const id of ['failed', 'gone', 'nobody']) {
      requireAlike(await responses.updateMetadata(own, id, { a: 'b' }), undefined);
    }
    requireAlike(await responses.updateMetadata(own, 'kept', { a: 'b' }, 'two'), undefined);
    requireAlike(await responses.updateMetadata(newTenant(), 'kept', { a: 'b' }), undefined);
    requireAlike((await graph.list(own, { metadata: { a: 'b' } }, { limit: 10, order: 'asc' })).data, []);
  });
});
