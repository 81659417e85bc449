import { describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import type { StateBackend } from '../../src/state/index.js';
import { type OpenedState, stateContract, type StateSubject } from '../../src/testing/index.js';
import { openMemory } from '../../src/testing/state/index.js';

/** Something wrong, and the case that has to notice it. */
interface StateFault {
  readonly what: string;
  readonly group: string;
  readonly notices: string;
  readonly says?: RegExp;
  readonly subject: Partial<StateSubject>;
}

/** The backend in memory, in which something is wrong. */
function broken(change: (backend: StateBackend) => object, members: Partial<OpenedState> = {}): Partial<StateSubject> {
  return {
    open: async () => {
      const opened = await openMemory();
      change(opened.backend);
      return { ...opened, ...members };
    },
  };
}

const lease = { fence: 1, renew: async () => true, release: async () => undefined };
const counted = { admitted: true, requests: 1, tokens: 0, places: 0, resetMs: 1 };
const generous = {
  take: async () => counted,
  settle: async () => undefined,
  renew: async () => new Map(),
};

const FAULTS: readonly StateFault[] = [
  {
    what: 'has its items backwards',
    group: 'responses: what is saved',
    notices: 'the storage keeps many items in order',
    subject: broken(({ responses }) => {
      const inputItems = responses.inputItems.bind(responses);
      return Object.assign(responses, {
        inputItems: async (...asked: Parameters<typeof inputItems>) => {
          const page = await inputItems(...asked);
          return page && { ...page, data: page.data.toReversed() };
        },
      });
    }),
  },
  {
    what: 'lists nothing',
    group: 'graph: the list of responses',
    notices: 'the list of responses shows everything',
    subject: broken(({ graph }) => Object.assign(graph, { list: async () => ({ data: [], hasMore: false }) })),
  },
  {
    what: 'has full sessions only',
    group: 'sessions: sessions',
    notices: 'sessions say whether they have at least so many responses',
    subject: broken(({ sessions }) => Object.assign(sessions, { hasAtLeast: async () => true })),
  },
  {
    what: 'keeps the first metadata',
    group: 'conversations: conversations',
    notices: 'conversations are what was created, and have the metadata that was given last',
    subject: broken(({ conversations }) => {
      const update = async (tenant: Tenant, id: string): Promise<unknown> => conversations.get(tenant, id);
      return Object.assign(conversations, { update });
    }),
  },
  {
    what: 'gives a lock to everybody',
    group: 'locks: the lock on a session',
    notices: 'the lock on a session has one holder, until that gives it back',
    subject: broken(({ locks }) => Object.assign(locks, { tryAcquire: async () => lease })),
  },
  {
    what: 'takes the last proposal',
    group: 'secrets: secrets',
    notices: 'secrets are what was proposed first, for everybody',
    subject: broken(({ secrets }) => Object.assign(secrets, { getOrCreate: async (_: string, last: string) => last })),
  },
  {
    what: 'tells nobody of deletions',
    group: 'notices: notices of deletions',
    notices: 'notices of deletions say what is deleted, and nothing else',
    subject: broken(({ notices }) => Object.assign(notices, { announce: () => undefined })),
  },
  {
    what: 'logs nothing',
    group: 'log: the log of events',
    notices: 'the log of events gives exactly the events after every number, as they were written',
    subject: broken(({ log }) => Object.assign(log, { append: async () => undefined })),
  },
  {
    what: 'delivers the data of another job',
    group: 'jobs: the job queue',
    notices: 'the job queue delivers what was enqueued before',
    subject: broken(({ jobs }) => {
      const work = jobs.work.bind(jobs);
      return Object.assign(jobs, {
        work: (...[queue, options, handler]: Parameters<typeof work>) =>
          work(queue, options, (job) => handler({ ...job, data: { data: 'another' } })),
      });
    }),
  },
  {
    what: 'never ends what runs',
    group: 'runs: the life of a background response',
    notices: 'a background response ends completed',
    subject: broken(({ runs }) => Object.assign(runs, { finish: async () => undefined })),
  },
  {
    what: 'counts no limits',
    group: 'limits: limits',
    notices: 'limits count requests and tokens together, for all replicas',
    subject: broken((backend) => Object.assign(backend, { limits: generous }), {
      replica: async () => Object.assign((await openMemory()).backend, { limits: generous }),
      endWindows: async () => undefined,
    }),
  },
  {
    what: 'records no usage',
    group: 'usage: usage',
    notices: 'usage adds up turns that agree, and tells others apart',
    subject: broken(({ usage }) => Object.assign(usage ?? {}, { record: async () => undefined })),
  },
  {
    what: 'finds no file',
    group: 'files: files',
    notices: 'files have the pieces of their draft, and nobody sees a draft',
    subject: broken(({ files }) => Object.assign(files ?? {}, { get: async () => undefined })),
  },
  {
    what: 'finds no chunk by its vector',
    group: 'vectors: vectors',
    notices: 'a search finds the nearest vectors, best first, with their cosines',
    subject: broken(({ vectors }) => Object.assign(vectors ?? {}, { nearest: async () => [] })),
  },
  {
    what: 'lets each claim of a file have it',
    group: 'vectorStores: the files that wait',
    notices: 'the files to index are each given to one claim, the first that was added first, until its time is over',
    subject: broken(({ vectorStores: stores }) => {
      const claim = stores?.claim.bind(stores);
      return Object.assign(stores ?? {}, { claim: (most: number, now: number) => claim?.(most, now, now) });
    }),
  },
  {
    what: 'takes what a lost claim has come to',
    group: 'vectorStores: the files that wait',
    notices:
      'the files to index count their tries anew when they are added again, and take nothing from a claim of before',
    subject: broken(({ vectorStores: stores }) => Object.assign(stores ?? {}, { settle: async () => true })),
  },
  {
    what: 'publishes a document of which chunks are missing',
    group: 'vectors: vectors',
    notices: 'the index publishes nothing of a document that was forgotten while it was written',
    subject: broken(({ vectors }) => Object.assign(vectors ?? {}, { publish: async () => true })),
  },
  {
    what: 'leaves jobs behind when it is moved',
    group: 'transfer: moves',
    notices: 'to another backend a move keeps everything that readers find',
    subject: broken(({ transfer }) => Object.assign(transfer ?? {}, { jobs: async function* () {} })),
  },
  {
    what: 'lacks limits and does not say so',
    group: 'limits: limits',
    notices: 'limits begin again when the window is over',
    says: /the backend has no limits: its subject must say so, with without: \['limits'\]/,
    subject: {},
  },
  {
    what: 'has usage and says that it has none',
    group: 'usage: none',
    notices: 'a contract that the subject says to lack is lacking',
    says: /the backend has usage, but its subject says that it has none/,
    subject: { without: ['usage'] },
  },
];

/** Runs one case of the suite. */
async function runCase(subject: StateSubject, group: string, name: string): Promise<void> {
  const found = stateContract(subject).find((one) => one.name === group);
  const tested = found?.cases.find((one) => one.name === name);
  if (found === undefined || tested === undefined) throw new TypeError(`there is no case '${group}' '${name}'`);
  try {
    await tested.run();
  } finally {
    await found.close();
  }
}

describe('the contract of the state', () => {
  it.each(FAULTS)(
    'the contract of the state notices a backend that $what',
    async ({ group, notices, says, subject }) => {
      const run = runCase({ open: openMemory, ...subject }, group, notices);
      // What is wrong is an AssertionError with both values; what is missing says so.
      await expect(run).rejects.toMatchObject(
        says === undefined ? { code: 'ERR_ASSERTION' } : { message: expect.stringMatching(says) },
      );
    },
  );

  it('every contract of the state has a fault', () => {
    const contracts = new Set(stateContract({ open: openMemory }).map(({ contract }) => contract));
    const found = new Set(FAULTS.map(({ group }) => group.split(':')[0]));
    expect([...contracts].filter((contract) => !found.has(contract))).toEqual([]);
  });

  it('the contract of the state tells cases apart by their names', () => {
    for (const { cases } of stateContract({ open: openMemory })) {
      const names = cases.map(({ name }) => name);
      expect(names).toEqual([...new Set(names)]);
    }
  });
});
