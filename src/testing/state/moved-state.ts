import { Writable } from 'node:stream';

import { asTenant, type Tenant } from '../../access/index.js';
import { exportState, type ExportOptions, importState, type Imported, type StateBackend } from '../../state/index.js';
import { createConversation, listedIn, turnIn } from './conversations.js';
import { append, message, recordOf, START, TTL_MS } from './records.js';
import {
  after,
  answer,
  batch,
  cancelledOf,
  deltas,
  dropped,
  endingOf,
  enqueue,
  event,
  itemDone,
  launch,
  readAll,
  startRun,
} from './runs.js';
import type { OpenedState } from './state-subject.js';

/** The tenants of `fill`. */
export const ONE = asTenant('one');
export const TWO = asTenant('two');

/** The responses that clients of ONE find. */
const FOUND = [
  ...['root', 'left', 'right', 'kept', 'in-1', 'in-2', 'in-gone', 'ended', 'polled', 'stopped', 'runs', 'waits'],
];
/** Responses that are not found any more; other responses need `middle` and `late`. */
const GONE = ['middle', 'late', 'leaf'];
const CONVERSATIONS = ['talk', 'empty', 'gone'];
const SESSIONS = ['root', 'forked', 'kept', 'talk', 'nobody'];
const PAGE = { limit: 100, order: 'asc' } as const;
const MINUTE_MS = 60_000;

/** The jobs of `fill` that are not done, oldest first. */
export const JOBS = {
  runs: { tenant: ONE, responseId: 'runs' },
  waits: { tenant: ONE, responseId: 'waits' },
  webhook: { tenant: ONE, responseId: 'ended' },
};

/** Fills a state with everything that there can be. */
export async function fill({ backend, clock }: OpenedState): Promise<void> {
  const { responses: store, runs, sessions, conversations, log, secrets } = backend;
  await secrets.getOrCreate('key', 'a secret');
  await append(store, TWO, 'root', { input: [message('of another tenant')] });
  // A tree, with a branch that hangs on a response that was deleted, and one on a response that has expired.
  const given = [
    { after: 0, items: [message('given-0')] },
    { after: 2, items: [message('given-1'), message('given-2')] },
  ];
  const output = [answer('first'), answer('second')];
  await append(store, ONE, 'root', { metadata: { kind: 'tree', line: '\u2028 \ud800 \0' }, output, given });
  const origin = { provider: 'p', model: 'm', upstreamId: 'u' };
  await append(store, ONE, 'left', { parentId: 'root', origin, createdAt: START / 1000 + 1, status: 'incomplete' });
  await append(store, ONE, 'middle', { parentId: 'root', createdAt: START / 1000 + 2 });
  await append(store, ONE, 'right', { parentId: 'middle', model: 'other', createdAt: START / 1000 + 1 });
  await append(store, ONE, 'late', { expiresAt: START + MINUTE_MS, sessionId: 'kept' });
  await append(store, ONE, 'kept', { parentId: 'late', createdAt: START / 1000 - 5, members: { store: true } });
  await append(store, ONE, 'leaf');
  await sessions.fork(ONE, { sourceId: 'root', targetId: 'forked', upToResponseId: 'left' });
  await store.delete(ONE, 'middle', { cascade: false });
  await store.delete(ONE, 'leaf', { cascade: false });
  // What was never stored here, or was deleted while the turn ran.
  await store.save(ONE, recordOf('polled', { inherited: [message('before')], parentId: 'never', status: 'failed' }));
  // Conversations.
  await createConversation(backend, ONE, 'talk', 'hello', 'wrong');
  await turnIn(backend, ONE, 'talk', 'in-1', { given });
  await turnIn(backend, ONE, 'talk', 'in-2');
  await conversations.deleteItem(ONE, 'talk', 'wrong');
  await createConversation(backend, ONE, 'empty');
  await createConversation(backend, ONE, 'gone', 'past');
  await turnIn(backend, ONE, 'gone', 'in-gone');
  await conversations.delete(ONE, 'gone');
  // Background responses.
  const ended = await launch(backend, ONE, 'ended', { job: { queue: 'webhooks', data: JOBS.webhook } });
  await log.append(ended, deltas(3, 700));
  await runs.finish(ended, endingOf('ended', { at: 703, given, origin }));
  const job = { queue: 'turns', id: '6f1d5a2e-2c53-4d6b-9a41-0f6d3b9a7c11', data: JOBS.runs } as const;
  const running = await launch(backend, ONE, 'runs', { job, parentId: 'left', inherited: [], isStream: false });
  await runs.start(after(running));
  const notes = [dropped(5, 1)];
  const items = [itemDone(3, 0, answer('done')), itemDone(4, 1, answer('dropped')), event(5)];
  await log.append(after(running), { firstEvent: 3, firstNote: 0, events: items, notes });
  await enqueue(runs, ONE, 'waits', { job: { queue: 'turns', data: JOBS.waits }, parentId: 'right', store: false });
  const stopped = { queue: 'turns', id: '0b4c1a57-93f3-4c0a-8a53-3f5f3b1f0e22', data: {} } as const;
  await enqueue(runs, ONE, 'stopped', { job: stopped });
  const cancelled = { ...cancelledOf('stopped', { logExpiresAt: START + 1 }), uselessJob: stopped };
  await runs.conclude(ONE, 'stopped', () => cancelled, {});
  clock.advance(2 * MINUTE_MS);
}

/** All that readers of the contracts find. */
export async function readEverything(backend: StateBackend): Promise<unknown> {
  const { responses: store, runs, graph, sessions, conversations, log, secrets } = backend;
  const items = ['root-in', 'first', 'right-in', 'given-1', 'hello', 'wrong', 'late-in', 'runs-in', 'past', 'waits-in'];
  const of = async (tenant: Tenant): Promise<unknown> => ({
    responses: await each([...FOUND, ...GONE], async (id) => ({
      found: await store.get(tenant, id),
      chain: await store.chain(tenant, id),
      input: await store.inputItems(tenant, id, PAGE),
      within: await each(SESSIONS, async (session) => (await store.get(tenant, id, session)) !== undefined),
      tree: await graph.tree(tenant, id, { depth: 9, limit: 99 }),
      leaves: await graph.leaves(tenant, id, PAGE),
      siblings: await graph.siblings(tenant, id, PAGE),
      // In no order.
      unfinished: (await runs.unfinished(tenant, id, { cascade: true })).toSorted(),
      log: await log.read(tenant, id, -1),
    })),
    lists: await each([{}, { model: 'other' }, { metadata: { kind: 'tree' } }, { statuses: ['queued'] }], (filter) =>
      graph.list(tenant, filter, PAGE),
    ),
    items: [...(await store.items(tenant, items))].sort(),
    sessions: await each(SESSIONS, (id) => sessions.hasAtLeast(tenant, id, 1)),
    conversations: await each(CONVERSATIONS, async (id) => ({
      found: await conversations.get(tenant, id),
      context: await conversations.read(tenant, id),
      listed: await listedIn(conversations, tenant, id),
      item: await conversations.item(tenant, id, 'hello'),
    })),
  });
  return {
    one: await of(ONE),
    two: await of(TWO),
    queued: await runs.queuedBefore(START + TTL_MS, 10),
    wholeLog: (await readAll(log, { tenant: ONE, responseId: 'ended' })).events,
    secret: await secrets.find('key'),
  };
}

/** An attempt of the runs of `fill` after they were moved, with what it needs. */
export async function startAgain({ runs }: StateBackend): Promise<unknown> {
  const start = (responseId: string): Promise<unknown> => startRun(runs, { tenant: ONE, responseId, attempt: 1 });
  return { runs: await start('runs'), waits: await start('waits') };
}

/** What an attempt needs of the responses that are left when it ends. */
export function endAgain({ runs }: StateBackend, attempt = 1): Promise<void> {
  const ending = endingOf('runs', { log: batch(6, event(6, 'response.completed')) });
  return runs.finish({ tenant: ONE, responseId: 'runs', attempt }, ending);
}

/** An export as text. */
export async function exported(backend: StateBackend, options?: ExportOptions): Promise<string> {
  let text = '';
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      text += chunk;
      done();
    },
  });
  await exportState(backend, output, options);
  return text;
}

/** Imports a text in parts of so many bytes. */
export async function imported(backend: StateBackend, text: string, part = 1000): Promise<Imported> {
  const bytes = Buffer.from(text);
  async function* parts(): AsyncGenerator<Buffer> {
    for (let start = 0; start < bytes.length; start += part) yield bytes.subarray(start, start + part);
  }
  return importState(backend, parts());
}

async function each<T, R>(values: readonly T[], read: (value: T) => Promise<R>): Promise<readonly (readonly [T, R])[]> {
  const all: (readonly [T, R])[] = [];
  for (const value of values) all.push([value, await read(value)]);
  return all;
}
