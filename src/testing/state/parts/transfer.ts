import assert from 'node:assert/strict';

import { asTenant } from '../../../access/index.js';
import { claimOfApproval, type MovedJob } from '../../../state/index.js';
import { requireAlike, requireEntry, requireMatch, requireRejection } from '../assertions.js';
import { Deliveries } from '../deliveries.js';
import { endAgain, exported, fill, imported, JOBS, ONE, readEverything, startAgain, TWO } from '../moved-state.js';
import { part, type Suite } from '../part.js';
import { append, contextFrom, contextOf, message, purge, recordOf } from '../records.js';
import { AGE_MS, cancelledOf } from '../runs.js';
import type { TestedState } from '../tested-state.js';

/** The data of the turns' jobs in an export, in order. */
function jobsIn(text: string): readonly unknown[] {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Partial<MovedJob>);
  return lines.filter(({ kind, queue }) => kind === 'job' && queue === 'turns').map(({ data }) => data);
}

/** Moves to another backend and back: what is moved has one form, which both write and read. */
export const TRANSFER = part('transfer', 'moves', (suite) => {
  const { open, openPeer, it, describe, beforeAll, afterEach, afterAll } = suite;
  const opened: TestedState[] = [];

  /** Opens a backend, which the end of the case closes. */
  const start = async (opening: Suite['open']): Promise<TestedState> => {
    const one = await opening();
    opened.push(one);
    return one;
  };

  afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

  for (const [direction, from, to] of [
    ['to another backend', open, openPeer],
    ['from another backend', openPeer, open],
  ] as const) {
    describe(direction, () => {
      /** The cases only read this state. */
      let source: TestedState;

      beforeAll(async () => {
        source = await from();
        await fill(source);
      });
      afterAll(() => source.close());

      it('a move keeps everything that readers find', async () => {
        const before = await readEverything(source.backend);
        const target = await start(to);
        target.clock.advance(source.clock.now() - target.clock.now());
        const moved = await imported(target.backend, await exported(source.backend));
        requireMatch(moved, { tenants: 2, jobs: 3, existing: 0 });
        requireAlike(await readEverything(target.backend), before);
      });

      it('a move keeps approvals that were used, and leaves others open', async () => {
        const [giving, target] = [await start(from), await start(to)];
        const [used, open] = ['1', '2'].map((digit) => `mcpr_${digit.repeat(52)}`) as [string, string];
        const output = [used, open].map((id) => ({ ...message(id), type: 'mcp_approval_request' }));
        await append(giving.backend.responses, ONE, 'asks', { output });
        const expiresAt = giving.clock.now() + AGE_MS;
        await giving.backend.claims.claim(ONE, claimOfApproval(used), 'answers', expiresAt);
        target.clock.advance(giving.clock.now() - target.clock.now());
        await imported(target.backend, await exported(giving.backend));
        const held = await target.backend.claims.held(ONE, [used, open].map(claimOfApproval));
        requireAlike(held, [{ name: claimOfApproval(used), owner: 'answers', expiresAt }]);
      });

      it('a move goes on with background responses', async () => {
        const target = await start(to);
        await imported(target.backend, await exported(source.backend));
        requireAlike(jobsIn(await exported(target.backend)), [JOBS.runs, JOBS.waits]);
        const turns = await Deliveries.of(target.backend.jobs);
        const webhooks = await Deliveries.of(target.backend.jobs, {}, 'webhooks');
        requireMatch(await turns.at(1), { attempt: 1 });
        requireAlike((await webhooks.at(0)).data, JOBS.webhook);
        assert.equal(turns.data.length, 2);
        for (const job of [JOBS.runs, JOBS.waits]) requireEntry(turns.data, job);
        const runs = { attempts: 3, isRestart: true, parent: { responseId: 'left' }, log: { notes: [{}] } };
        const waits = { attempts: 1, isRestart: false, parent: { responseId: 'right' } };
        requireMatch(await startAgain(target.backend), { runs, waits });
        await endAgain(target.backend);
        requireAlike(
          await contextOf(target.backend.responses, ONE, 'runs'),
          await contextOf(target.backend.responses, ONE, 'left').then((context) => [
            ...(context ?? []),
            'runs-in',
            'runs-out',
          ]),
        );
        const cancelled = await target.backend.runs.conclude(ONE, 'waits', () => cancelledOf('waits'), {});
        assert.equal(cancelled?.status, 'cancelled');
        await turns.stop();
        await webhooks.stop();
      });

      it('a move frees what is only kept for others with the last of them', async () => {
        const target = await start(to);
        target.clock.advance(source.clock.now() - target.clock.now());
        await imported(target.backend, await exported(source.backend));
        const { responses: store, runs, conversations } = target.backend;
        await purge(store);
        const context = await contextOf(store, ONE, 'right');
        for (const id of contextFrom('middle', 'right')) requireEntry(context ?? [], id);
        for (const id of ['runs', 'waits']) await runs.conclude(ONE, id, () => cancelledOf(id), {});
        for (const id of ['talk', 'empty']) await conversations.delete(ONE, id);
        target.clock.advance(AGE_MS);
        await purge(store);
        await purge(store);
        assert.equal(await target.content(), 0);
      });

      it('a move can be repeated, and after an interruption', async () => {
        const before = await readEverything(source.backend);
        const text = await exported(source.backend);
        const target = await start(to);
        target.clock.advance(source.clock.now() - target.clock.now());
        for (const share of [0.2, 0.5, 0.8]) {
          const cut = text.lastIndexOf('\n', text.length * share) + 1;
          const lines = text.slice(0, cut).split('\n').length - 1;
          await requireRejection(
            imported(target.backend, text.slice(0, cut)),
            `The export is not whole: it ends with line ${lines}.`,
          );
        }
        await imported(target.backend, text);
        const again = await imported(target.backend, text);
        assert.equal(again.existing, again.conversations + again.responses);
        requireAlike(await readEverything(target.backend), before);
        const turns = await Deliveries.of(target.backend.jobs);
        await turns.at(1);
        await target.untilHeld(2);
        assert.equal(turns.data.length, 2);
        await turns.stop();
      });

      it('a move leaves what the other state has', async () => {
        const target = await start(to);
        const { responses: store } = target.backend;
        const third = asTenant('three');
        await append(store, third, 'root', { input: [message('theirs')] });
        await append(store, ONE, 'left', { input: [message('was here')], output: [] });
        const moved = await imported(target.backend, await exported(source.backend, { tenants: [ONE] }));
        requireMatch(moved, { tenants: 1, existing: 1 });
        requireAlike(await contextOf(store, third, 'root'), ['theirs', 'root-out']);
        requireAlike(await contextOf(store, ONE, 'left'), ['was here']);
        assert.equal(await store.get(TWO, 'root'), undefined);
      });

      it('a move keeps odd names apart', async () => {
        const odd = await start(from);
        const tenant = asTenant('t'.repeat(300));
        const names = ['a\0', '\ud800', '\ufffd', ' ', `${'n'.repeat(300)}1`, `${'n'.repeat(300)}2`, '\u2028\n'];
        for (const [index, name] of names.entries()) {
          const parentId = names[index - 1] ?? null;
          const sessionId = names[0] ?? '';
          await odd.backend.responses.save(tenant, recordOf(name, { parentId, sessionId }));
        }
        const target = await start(to);
        await imported(target.backend, await exported(odd.backend, { tenants: [tenant] }), 7);
        for (const [index, name] of names.entries()) {
          requireAlike(
            await contextOf(target.backend.responses, tenant, name),
            contextFrom(...names.slice(0, index + 1)),
          );
        }
        const page = { limit: 10, order: 'asc' } as const;
        const inSession = await target.backend.graph.list(tenant, { sessionId: 'a\0' }, page);
        requireAlike(inSession.data.map(({ id }) => id).sort(), [...names].sort());
      });
    });
  }

  it('a move refuses another secret before anything is stored', async () => {
    const source = await start(open);
    await fill(source);
    const target = await start(open);
    await target.backend.secrets.getOrCreate('key', 'another');
    await assert.rejects(
      imported(target.backend, await exported(source.backend)),
      /Line 2 has another secret key than this state: .* --no-secrets\.$/,
    );
    assert.equal(await target.content(), 0);
    await imported(target.backend, await exported(source.backend, { secrets: false }));
    assert.equal(await target.backend.secrets.find('key'), 'another');
    assert.equal((await target.backend.responses.get(ONE, 'root'))?.id, 'root');
  });

  it('a move refuses a response whose parent is missing, with all that is written together', async () => {
    const source = await start(open);
    await append(source.backend.responses, ONE, 'a');
    await append(source.backend.responses, ONE, 'b', { parentId: 'a' });
    const lines = (await exported(source.backend)).split('\n');
    const target = await start(open);
    await requireRejection(
      imported(target.backend, lines.toSpliced(2, 1).join('\n')),
      'What begins with line 3 cannot be stored: the response b continues a, which is not there.',
    );
  });

  it('a move adds no entries to a conversation that was changed since', async () => {
    const source = await start(open);
    await fill(source);
    const text = await exported(source.backend);
    const target = await start(open);
    await imported(target.backend, text);
    await target.backend.conversations.deleteItem(ONE, 'talk', 'hello');
    const before = await readEverything(target.backend);
    await imported(target.backend, text);
    requireAlike(await readEverything(target.backend), before);
  });
});
