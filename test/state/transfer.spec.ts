// Slow: moves a whole state ten times.

import { afterEach, describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import type { MovedJob } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend, type TestedBackend } from './backends.js';
import { Deliveries } from './deliveries.js';
import { endAgain, exported, fill, imported, JOBS, ONE, readEverything, startAgain, TWO } from './moved-state.js';
import { append, contextFrom, contextOf, message, purge, recordOf } from './records.js';
import { AGE_MS, cancelledOf } from './runs.js';

/** Each backend to its own kind and to the next: what is moved has one form, which each of them writes twice and reads twice. */
const PAIRS = BACKENDS.flatMap((from, index) =>
  [from, BACKENDS[(index + 1) % BACKENDS.length] ?? from].map((to) => ({
    from,
    to,
    pair: `${from.name} to ${to.name}`,
  })),
);

const opened: OpenedBackend[] = [];

/** Opens a backend, which the end of the test closes. */
async function start({ open }: TestedBackend): Promise<OpenedBackend> {
  const one = await open();
  opened.push(one);
  return one;
}

/** The data of the turns' jobs in an export, in order. */
function jobsIn(text: string): readonly unknown[] {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Partial<MovedJob>);
  return lines.filter(({ kind, queue }) => kind === 'job' && queue === 'turns').map(({ data }) => data);
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

describe.each(PAIRS)('a move from $pair', ({ from, to }) => {
  it('keeps everything that readers find', async () => {
    const source = await start(from);
    await fill(source);
    const before = await readEverything(source.backend);
    const target = await start(to);
    target.clock.advance(source.clock.now() - target.clock.now());
    const moved = await imported(target.backend, await exported(source.backend));
    expect(moved).toMatchObject({ tenants: 2, jobs: 3, existing: 0 });
    expect(await readEverything(target.backend)).toEqual(before);
  });

  it('goes on with background responses', async () => {
    const source = await start(from);
    await fill(source);
    const target = await start(to);
    await imported(target.backend, await exported(source.backend));
    expect(jobsIn(await exported(target.backend))).toEqual([JOBS.runs, JOBS.waits]);
    const turns = await Deliveries.of(target.backend.jobs);
    const webhooks = await Deliveries.of(target.backend.jobs, {}, 'webhooks');
    expect(await turns.at(1)).toMatchObject({ attempt: 1 });
    expect((await webhooks.at(0)).data).toEqual(JOBS.webhook);
    expect(turns.data).toHaveLength(2);
    expect(turns.data).toEqual(expect.arrayContaining([JOBS.runs, JOBS.waits]));
    const runs = { attempts: 3, isRestart: true, parent: { responseId: 'left' }, log: { notes: [{}] } };
    const waits = { attempts: 1, isRestart: false, parent: { responseId: 'right' } };
    expect(await startAgain(target.backend)).toMatchObject({ runs, waits });
    await endAgain(target.backend);
    expect(await contextOf(target.backend.responses, ONE, 'runs')).toEqual(
      await contextOf(target.backend.responses, ONE, 'left').then((context) => [
        ...(context ?? []),
        'runs-in',
        'runs-out',
      ]),
    );
    const cancelled = await target.backend.responses.conclude(ONE, 'waits', () => cancelledOf('waits'), {});
    expect(cancelled?.status).toBe('cancelled');
    await turns.stop();
    await webhooks.stop();
  });

  it('frees what is only kept for others with the last of them', async () => {
    const source = await start(from);
    await fill(source);
    const target = await start(to);
    target.clock.advance(source.clock.now() - target.clock.now());
    await imported(target.backend, await exported(source.backend));
    const { responses: store, conversations } = target.backend;
    await purge(store);
    expect(await contextOf(store, ONE, 'right')).toEqual(expect.arrayContaining([...contextFrom('middle', 'right')]));
    for (const id of ['runs', 'waits']) await store.conclude(ONE, id, () => cancelledOf(id), {});
    for (const id of ['talk', 'empty']) await conversations.delete(ONE, id);
    target.clock.advance(AGE_MS);
    await purge(store);
    await purge(store);
    expect(await target.content()).toBe(0);
  });

  it('can be repeated, and after an interruption', async () => {
    const source = await start(from);
    await fill(source);
    const before = await readEverything(source.backend);
    const text = await exported(source.backend);
    const target = await start(to);
    target.clock.advance(source.clock.now() - target.clock.now());
    for (const share of [0.2, 0.5, 0.8]) {
      const cut = text.lastIndexOf('\n', text.length * share) + 1;
      const lines = text.slice(0, cut).split('\n').length - 1;
      await expect(imported(target.backend, text.slice(0, cut))).rejects.toThrow(
        `The export is not whole: it ends with line ${lines}.`,
      );
    }
    await imported(target.backend, text);
    const again = await imported(target.backend, text);
    expect(again.existing).toBe(again.conversations + again.responses);
    expect(await readEverything(target.backend)).toEqual(before);
    const turns = await Deliveries.of(target.backend.jobs);
    await turns.at(1);
    await target.untilHeld(2);
    expect(turns.data).toHaveLength(2);
    await turns.stop();
  });

  it('leaves what the other state has', async () => {
    const source = await start(from);
    await fill(source);
    const target = await start(to);
    const { responses: store } = target.backend;
    const third = asTenant('three');
    await append(store, third, 'root', { input: [message('theirs')] });
    await append(store, ONE, 'left', { input: [message('was here')], output: [] });
    const moved = await imported(target.backend, await exported(source.backend, { tenants: [ONE] }));
    expect(moved).toMatchObject({ tenants: 1, existing: 1 });
    expect(await contextOf(store, third, 'root')).toEqual(['theirs', 'root-out']);
    expect(await contextOf(store, ONE, 'left')).toEqual(['was here']);
    expect(await store.get(TWO, 'root')).toBeUndefined();
  });

  it('keeps odd names apart', async () => {
    const source = await start(from);
    const tenant = asTenant('t'.repeat(300));
    const names = ['a\0', '\ud800', '\ufffd', ' ', `${'n'.repeat(300)}1`, `${'n'.repeat(300)}2`, '\u2028\n'];
    for (const [index, name] of names.entries()) {
      const parentId = names[index - 1] ?? null;
      const sessionId = names[0] ?? '';
      await source.backend.responses.save(tenant, recordOf(name, { parentId, sessionId }));
    }
    const target = await start(to);
    await imported(target.backend, await exported(source.backend, { tenants: [tenant] }), 7);
    for (const [index, name] of names.entries()) {
      expect(await contextOf(target.backend.responses, tenant, name)).toEqual(
        contextFrom(...names.slice(0, index + 1)),
      );
    }
    const page = { limit: 10, order: 'asc' } as const;
    const inSession = await target.backend.graph.list(tenant, { sessionId: 'a\0' }, page);
    expect(inSession.data.map(({ id }) => id).sort()).toEqual([...names].sort());
  });
});

describe.each(BACKENDS)('an import into $name', (tested) => {
  it('refuses another secret before anything is stored', async () => {
    const source = await start(tested);
    await fill(source);
    const target = await start(tested);
    await target.backend.secrets.getOrCreate('key', 'another');
    await expect(imported(target.backend, await exported(source.backend))).rejects.toThrow(
      /^Line 2 has another secret key than this state: .* --no-secrets\.$/,
    );
    expect(await target.content()).toBe(0);
    await imported(target.backend, await exported(source.backend, { secrets: false }));
    expect(await target.backend.secrets.find('key')).toBe('another');
    expect((await target.backend.responses.get(ONE, 'root'))?.id).toBe('root');
  });

  it('refuses a response whose parent is missing, with all that is written together', async () => {
    const source = await start(tested);
    await append(source.backend.responses, ONE, 'a');
    await append(source.backend.responses, ONE, 'b', { parentId: 'a' });
    const lines = (await exported(source.backend)).split('\n');
    const target = await start(tested);
    await expect(imported(target.backend, lines.toSpliced(2, 1).join('\n'))).rejects.toThrow(
      'What begins with line 3 cannot be stored: the response b continues a, which is not there.',
    );
  });

  it('adds no entries to a conversation that was changed since', async () => {
    const source = await start(tested);
    await fill(source);
    const text = await exported(source.backend);
    const target = await start(tested);
    await imported(target.backend, text);
    await target.backend.conversations.deleteItem(ONE, 'talk', 'hello');
    const before = await readEverything(target.backend);
    await imported(target.backend, text);
    expect(await readEverything(target.backend)).toEqual(before);
  });
});

describe('an export of postgres', () => {
  it('refuses a tenant that is only known by a digest, unless it is named', async () => {
    const { backend } = await start(BACKENDS.find(({ name }) => name === 'postgres') as TestedBackend);
    await append(backend.responses, asTenant('t'.repeat(300)), 'a');
    await expect(exported(backend)).rejects.toThrow('a tenant whose name it stores only as a digest');
  });
});
