import type { Owner } from '../../src/access/index.js';
import {
  type ResponseGraph,
  type ResponseStore,
  type SessionLock,
  type SessionStore,
  type StateBackend,
  StateError,
} from '../../src/state/index.js';
import { contextOf, message, recordOf } from './records.js';

/** A call of a contract about response `target` of session `session`, which it may name. */
export type Call = (backend: StateBackend, owner: Owner, within?: string) => Promise<unknown>;

type Calls<Contract> = Readonly<Record<Exclude<keyof Contract, 'check' | 'expectSave' | 'purge'>, readonly Call[]>>;

const PAGE = { limit: 10, order: 'asc' } as const;

const RESPONSES: Calls<ResponseStore> = {
  save: [
    async ({ responses }, owner) => {
      const inherited = [message('inherited')];
      await responses.save(owner, recordOf('child-of-target', { parentId: 'target', inherited, sessionId: 'own' }));
      return contextOf(responses, owner, 'child-of-target');
    },
  ],
  get: [({ responses }, owner, within) => responses.get(owner, 'target', within)],
  delete: [
    ({ responses }, owner, within) => responses.delete(owner, 'target', { cascade: false }, within),
    ({ responses }, owner, within) => responses.delete(owner, 'root', { cascade: true }, within),
  ],
  chain: [({ responses }, owner, within) => responses.chain(owner, 'target', within)],
  inputItems: [
    ({ responses }, owner, within) => responses.inputItems(owner, 'target', PAGE, within),
    ({ responses }, owner, within) => responses.inputItems(owner, 'target', { ...PAGE, after: 'target-in' }, within),
    ({ responses }, owner, within) => responses.inputItems(owner, 'target', { ...PAGE, before: 'nothing' }, within),
  ],
  items: [({ responses }, owner, within) => responses.items(owner, ['root-out', 'target-in', 'target-out'], within)],
};

const GRAPH: Calls<ResponseGraph> = {
  list: [
    ({ graph }, owner) => graph.list(owner, {}, PAGE),
    ({ graph }, owner) => graph.list(owner, { sessionId: 'session' }, PAGE),
    ({ graph }, owner) => graph.list(owner, { model: 'gpt', status: 'completed' }, PAGE),
    ({ graph }, owner) => graph.list(owner, { metadata: { kind: 'secret' } }, PAGE),
    ({ graph }, owner) => graph.list(owner, {}, { ...PAGE, after: 'target' }),
    ({ graph }, owner) => graph.list(owner, { sessionId: 'session' }, { ...PAGE, before: 'target' }),
  ],
  children: [
    ({ graph }, owner, within) => graph.children(owner, 'target', PAGE, within),
    ({ graph }, owner, within) => graph.children(owner, 'target', { ...PAGE, after: 'child' }, within),
  ],
  siblings: [
    ({ graph }, owner, within) => graph.siblings(owner, 'target', PAGE, within),
    ({ graph }, owner, within) => graph.siblings(owner, 'target', { ...PAGE, before: 'sibling' }, within),
  ],
  leaves: [({ graph }, owner, within) => graph.leaves(owner, 'root', PAGE, within)],
  tree: [({ graph }, owner, within) => graph.tree(owner, 'target', { depth: 5, limit: 100 }, within)],
};

const SESSIONS: Calls<SessionStore> = {
  fork: [
    ({ sessions }, owner) => sessions.fork(owner, { sourceId: 'session', targetId: 'fork' }),
    ({ sessions }, owner) => sessions.fork(owner, { sourceId: 'session', targetId: 'part', upToResponseId: 'target' }),
  ],
  delete: [({ sessions }, owner) => sessions.delete(owner, 'session')],
  hasAtLeast: [({ sessions }, owner) => sessions.hasAtLeast(owner, 'session', 1)],
};

const LOCKS: Calls<SessionLock> = {
  tryAcquire: [
    async ({ locks }, owner) => {
      const lease = await locks.tryAcquire(owner, 'session', 60_000);
      await lease?.release();
      return lease !== undefined;
    },
  ],
};

/** Every method of every contract that takes an owner, by name. */
export const CALLS = Object.entries({ ...RESPONSES, ...GRAPH, ...LOCKS })
  .flatMap(nameCalls)
  .concat(Object.entries(SESSIONS).flatMap(([name, calls]) => nameCalls([`${name} session`, calls])));

/** What a call came to, so that two can be compared: its value, or the answer to a client that its error stands for. */
export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await call };
  } catch (error) {
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
