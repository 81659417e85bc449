import type { Tenant } from '../../access/index.js';
import {
  type BackgroundRuns,
  type ConversationStore,
  type EventLog,
  type ResponseGraph,
  type ResponseStore,
  type Run,
  RunLostError,
  type SessionStore,
  type StateBackend,
  StateError,
  type WriteLock,
} from '../../state/index.js';
import { createConversation, partsIn } from './conversations.js';
import { contextOf, message, recordOf } from './records.js';
import { cancelledOf, deltas, endingOf, NO_BOUNDS, queuedOf } from './runs.js';

/**
 * A call of a contract about response `target` of session `session`, which it may name; or about background responses
 * of that session: `waiting`, and `running` in its first attempt, whose events end with number 2; or about conversation
 * `talk` with the items `talk-a` and `talk-b`, in which response `told` was made.
 */
export type Call = (backend: StateBackend, tenant: Tenant, within?: string) => Promise<unknown>;

/** Methods without a tenant. */
type Uncovered = 'check' | 'expectSave' | 'purge' | 'queuedBefore';

type Calls<Contract> = Readonly<Record<Exclude<keyof Contract, Uncovered>, readonly Call[]>>;

const PAGE = { limit: 10, order: 'asc' } as const;

function running(tenant: Tenant, attempt = 1): Run {
  return { tenant, responseId: 'running', attempt };
}

const RESPONSES: Calls<ResponseStore> = {
  save: [
    async ({ responses }, tenant) => {
      const inherited = [message('inherited')];
      await responses.save(tenant, recordOf('child-of-target', { parentId: 'target', inherited, sessionId: 'own' }));
      return contextOf(responses, tenant, 'child-of-target');
    },
    async (backend, tenant) => {
      const opened = await backend.conversations.open(tenant, 'talk', { ttlMs: 60_000 });
      const { version, fence } = 'refused' in opened ? { version: 1, fence: 1 } : opened;
      await backend.responses.save(tenant, recordOf('new', partsIn('talk', { version, fence })));
      return contextOf(backend.responses, tenant, 'new');
    },
  ],
  get: [
    ({ responses }, tenant, within) => responses.get(tenant, 'target', within),
    ({ responses }, tenant, within) => responses.get(tenant, 'running', within),
  ],
  updateMetadata: [
    ({ responses }, tenant, within) => responses.updateMetadata(tenant, 'target', { kind: 'new' }, within),
  ],
  delete: [
    ({ responses }, tenant, within) => responses.delete(tenant, 'target', { cascade: false }, within),
    ({ responses }, tenant, within) => responses.delete(tenant, 'root', { cascade: true }, within),
  ],
  chain: [
    ({ responses }, tenant, within) => responses.chain(tenant, 'target', within),
    ({ responses }, tenant, within) => responses.chain(tenant, 'told', within),
  ],
  inputItems: [
    ({ responses }, tenant, within) => responses.inputItems(tenant, 'target', PAGE, within),
    ({ responses }, tenant, within) => responses.inputItems(tenant, 'target', { ...PAGE, after: 'target-in' }, within),
    ({ responses }, tenant, within) => responses.inputItems(tenant, 'target', { ...PAGE, before: 'nothing' }, within),
  ],
  items: [
    ({ responses }, tenant, within) => responses.items(tenant, ['root-out', 'target-in', 'target-out'], within),
    ({ responses }, tenant) => responses.items(tenant, ['talk-a', 'talk-b']),
  ],
};

const RUNS: Calls<BackgroundRuns> = {
  create: [
    async ({ runs }, tenant) => {
      const inherited = [message('inherited')];
      const record = queuedOf('new', { parentId: 'target', inherited, sessionId: 'own' });
      await runs.create(tenant, record, NO_BOUNDS);
      return runs.start({ tenant, responseId: 'new', attempt: 1 });
    },
    // One response of the tenant waits already.
    ({ runs }, tenant) => runs.create(tenant, queuedOf('new'), { ...NO_BOUNDS, perTenant: 1 }),
  ],
  start: [
    ({ runs }, tenant) => runs.start({ tenant, responseId: 'waiting', attempt: 1 }),
    ({ runs }, tenant) => runs.start(running(tenant, 2)),
  ],
  handBack: [
    async ({ runs }, tenant) => {
      await runs.handBack(running(tenant));
      return runs.start(running(tenant, 2));
    },
  ],
  finish: [({ runs }, tenant) => runs.finish(running(tenant), endingOf('running', { at: 3 }))],
  conclude: [
    ({ runs }, tenant, within) => runs.conclude(tenant, 'waiting', () => cancelledOf('waiting', { at: 2 }), { within }),
    ({ runs }, tenant, within) =>
      runs.conclude(tenant, 'running', () => cancelledOf('running', { at: 3 }), { within, attempt: 1 }),
  ],
  unfinished: [({ runs }, tenant, within) => runs.unfinished(tenant, 'root', { cascade: true }, within)],
};

const LOG: Calls<EventLog> = {
  append: [({ log }, tenant) => log.append(running(tenant), deltas(3, 1))],
  read: [
    ({ log }, tenant, within) => log.read(tenant, 'running', -1, within),
    ({ log }, tenant, within) => log.read(tenant, 'waiting', 1, within),
  ],
};

const GRAPH: Calls<ResponseGraph> = {
  list: [
    ({ graph }, tenant) => graph.list(tenant, { statuses: ['queued'] }, PAGE),
    ({ graph }, tenant) => graph.list(tenant, {}, PAGE),
    ({ graph }, tenant) => graph.list(tenant, { sessionId: 'session' }, PAGE),
    ({ graph }, tenant) => graph.list(tenant, { model: 'gpt', statuses: ['completed'] }, PAGE),
    ({ graph }, tenant) => graph.list(tenant, { metadata: { kind: 'secret' } }, PAGE),
    ({ graph }, tenant) => graph.list(tenant, {}, { ...PAGE, after: 'target' }),
    ({ graph }, tenant) => graph.list(tenant, { sessionId: 'session' }, { ...PAGE, before: 'target' }),
  ],
  children: [
    ({ graph }, tenant, within) => graph.children(tenant, 'target', PAGE, within),
    ({ graph }, tenant, within) => graph.children(tenant, 'target', { ...PAGE, after: 'child' }, within),
  ],
  siblings: [
    ({ graph }, tenant, within) => graph.siblings(tenant, 'target', PAGE, within),
    ({ graph }, tenant, within) => graph.siblings(tenant, 'target', { ...PAGE, before: 'sibling' }, within),
  ],
  leaves: [({ graph }, tenant, within) => graph.leaves(tenant, 'root', PAGE, within)],
  tree: [({ graph }, tenant, within) => graph.tree(tenant, 'target', { depth: 5, limit: 100 }, within)],
};

const SESSIONS: Calls<SessionStore> = {
  fork: [
    ({ sessions }, tenant) => sessions.fork(tenant, { sourceId: 'session', targetId: 'fork' }),
    ({ sessions }, tenant) =>
      sessions.fork(tenant, { sourceId: 'session', targetId: 'part', upToResponseId: 'target' }),
  ],
  delete: [({ sessions }, tenant) => sessions.delete(tenant, 'session')],
  hasAtLeast: [({ sessions }, tenant) => sessions.hasAtLeast(tenant, 'session', 1)],
};

const CONVERSATIONS: Calls<ConversationStore> = {
  create: [
    async (backend, tenant) => {
      await createConversation(backend, tenant, 'talk', 'mine');
      return backend.conversations.read(tenant, 'talk');
    },
  ],
  get: [({ conversations }, tenant) => conversations.get(tenant, 'talk')],
  update: [({ conversations }, tenant) => conversations.update(tenant, 'talk', { kind: 'changed' })],
  delete: [({ conversations }, tenant) => conversations.delete(tenant, 'talk')],
  open: [
    async ({ conversations }, tenant) => {
      const opened = await conversations.open(tenant, 'talk', { ttlMs: 60_000 });
      return 'refused' in opened ? opened : opened.items;
    },
  ],
  read: [({ conversations }, tenant) => conversations.read(tenant, 'talk')],
  append: [({ conversations }, tenant) => conversations.append(tenant, 'talk', [message('talk-a')])],
  items: [
    ({ conversations }, tenant) => conversations.items(tenant, 'talk', PAGE),
    ({ conversations }, tenant) => conversations.items(tenant, 'talk', { ...PAGE, after: 'talk-a' }),
  ],
  item: [({ conversations }, tenant) => conversations.item(tenant, 'talk', 'talk-a')],
  deleteItem: [({ conversations }, tenant) => conversations.deleteItem(tenant, 'talk', 'talk-a')],
};

const LOCKS: Calls<WriteLock> = {
  tryAcquire: [
    async ({ locks }, tenant) => {
      const lease = await locks.tryAcquire(tenant, 'session', 60_000);
      await lease?.release();
      return lease !== undefined;
    },
  ],
};

/** Every method of every contract that takes a tenant, by name. */
export const CALLS = Object.entries({ ...RESPONSES, ...RUNS, ...LOG, ...GRAPH, ...LOCKS })
  .flatMap(nameCalls)
  .concat(Object.entries(SESSIONS).flatMap(([name, calls]) => nameCalls([`${name} session`, calls])))
  .concat(Object.entries(CONVERSATIONS).flatMap(([name, calls]) => nameCalls([`${name} conversation`, calls])));

/** What a call came to, so that two can be compared: its value, or the answer to a client that its error stands for. */
export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await call };
  } catch (error) {
    if (error instanceof RunLostError) return { error: error.name, text: error.message };
    if (!(error instanceof StateError)) throw error;
    const { message: text, param } = error.toApiError();
    return { error: error.name, text, param };
  }
}

function nameCalls([name, calls]: readonly [string, readonly Call[]]): {
  readonly name: string;
  readonly call: Call;
}[] {
  return calls.map((call, index) => ({ name: calls.length === 1 ? name : `${name} (${index + 1})`, call }));
}
