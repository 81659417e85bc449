import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { BackgroundRuns, EventLog, LogBatch, Run, StateBackend } from '../../../state/index.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { append, newTenant } from '../records.js';
import {
  batch,
  begins,
  cancelledOf,
  deltas,
  dropped,
  endingOf,
  enqueue,
  event,
  eventsOf,
  launch,
  OPENING,
  readAll,
  startRun,
} from '../runs.js';

const numbersOf = (events: readonly { readonly sequenceNumber: number }[]): readonly number[] =>
  events.map(({ sequenceNumber }) => sequenceNumber);
const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Texts that a line, a column or a reader might not keep. */
const TEXTS = [
  ...['', ' ', '\n', '\r\n', '\u2028', '\0', '\ud800', '\udc00', '😀', '"', '\\', '\\n', '12 {"type":"x"', '東'],
];

/** The events of background responses, as readers and later attempts find them. */
export const EVENT_LOG = part('log', 'the log of events', ({ share, it }) => {
  let backend: StateBackend;
  let runs: BackgroundRuns;
  let log: EventLog;
  let tenant: Tenant;

  share((opened, newcomer) => {
    [backend, tenant] = [opened.backend, newcomer];
    ({ runs, log } = backend);
  });

  const appendAll = async (run: Run, ...batches: readonly LogBatch[]): Promise<void> => {
    for (const one of batches) await log.append(run, one);
  };

  it('the log of events gives exactly the events after every number, as they were written', async () => {
    const run = await launch(backend, tenant, 'a');
    const noted = { ...deltas(6, 3), notes: [dropped(7, 0)] };
    const last = { ...batch(13, event(13, 'response.output_text.done')), firstNote: 1 };
    const ending = endingOf('a', { log: { ...batch(14, ...endingOf('a', { at: 14 }).log.events), firstNote: 1 } });
    await appendAll(run, deltas(3, 1), deltas(4, 2), noted, { ...deltas(9, 4), firstNote: 1 }, last);
    await runs.finish(run, ending);
    const written = [
      ...OPENING.events,
      begins(2),
      ...deltas(3, 10).events,
      ...last.events,
      ...ending.log.events.map((terminal) => ({ ...terminal, response: null })),
    ];
    for (let after = -1; after < written.length; after += 1) {
      requireAlike(await log.read(tenant, 'a', after), { events: written.slice(after + 1), isLast: true });
    }
  });

  it('the log of events gives what there is while the response waits and runs, and says that more may come', async () => {
    await enqueue(runs, tenant, 'a');
    requireAlike(await log.read(tenant, 'a', -1), { events: OPENING.events, isLast: false });
    const run = { tenant, responseId: 'a', attempt: 1 };
    await startRun(runs, run);
    await appendAll(run, batch(2, begins(2)), deltas(3, 2));
    requireAlike(await log.read(tenant, 'a', 2), { events: deltas(3, 2).events, isLast: false });
    requireAlike(await log.read(tenant, 'a', 4), { events: [], isLast: false });
    await runs.finish(run, endingOf('a', { at: 5 }));
    requireMatch(eventsOf(await log.read(tenant, 'a', 4)), { events: { length: 1 }, isLast: true });
  });

  for (const past of [5, 1000, 2 ** 31 - 2, 2 ** 31 - 1, Number.MAX_SAFE_INTEGER, 1e300]) {
    it(`the log of events gives nothing, and no error, after number ${JSON.stringify(past)}, which is past the end`, async () => {
      const run = await launch(backend, tenant, 'a');
      await log.append(run, deltas(3, 2));
      requireAlike(await log.read(tenant, 'a', past), { events: [], isLast: false });
      await runs.finish(run, endingOf('a', { at: 5 }));
      requireAlike(await log.read(tenant, 'a', past), { events: [], isLast: true });
    });
  }

  it('the log of events says what has no stream, and what is not there', async () => {
    await append(backend.responses, tenant, 'saved');
    await enqueue(runs, tenant, 'json', { isStream: false });
    await enqueue(runs, tenant, 'a', { sessionId: 's' });
    requireAlike(await log.read(tenant, 'saved', -1), { missing: 'no stream' });
    requireAlike(await log.read(tenant, 'json', -1), { missing: 'no stream' });
    await runs.conclude(tenant, 'json', () => cancelledOf('json'), {});
    requireAlike(await log.read(tenant, 'json', -1), { missing: 'no stream' });
    assert.equal(await log.read(tenant, 'nothing', -1), undefined);
    assert.equal(await log.read(newTenant(), 'a', -1), undefined);
    assert.equal(await log.read(tenant, 'a', -1, 'elsewhere'), undefined);
    requireMatch(await log.read(tenant, 'a', -1, 's'), { events: { length: 2 } });
  });

  it('the log of events logs also what nobody may read: further attempts need it', async () => {
    const run = await launch(backend, tenant, 'a', { isStream: false });
    await log.append(run, deltas(3, 1));
    assert.equal((await startRun(runs, { ...run, attempt: 2 })).log.events.length, 4);
  });

  it('the log of events takes a batch that is repeated once', async () => {
    const run = await launch(backend, tenant, 'a');
    const notes = { ...batch(5), notes: [dropped(5, 0), dropped(5, 1)] };
    const noted = { ...deltas(5, 1), firstNote: 2, notes: [dropped(5, 2)] };
    for (const one of [deltas(3, 2), notes, noted]) {
      await log.append(run, one);
      await log.append(run, one);
      await log.append(run, one);
    }
    const started = await startRun(runs, { ...run, attempt: 2 });
    requireAlike(numbersOf(started.log.events), numbers(0, 5));
    requireAlike(started.log.notes, [dropped(5, 0), dropped(5, 1), dropped(5, 2)]);
    requireAlike(numbersOf((await readAll(log, run)).events), numbers(0, 5));
  });

  it('the log of events keeps notes to itself, also where a batch has nothing else', async () => {
    const run = await launch(backend, tenant, 'a');
    await appendAll(run, { ...batch(3), notes: [dropped(3, 0)] }, { ...deltas(3, 1), firstNote: 1 });
    await appendAll(
      run,
      { ...batch(4), firstNote: 1, notes: [dropped(4, 1)] },
      { ...batch(4), firstNote: 2, notes: [dropped(4, 2)] },
    );
    for (const after of [-1, 1, 2, 3, 4]) {
      const { events, isLast } = eventsOf(await log.read(tenant, 'a', after));
      requireAlike([numbersOf(events), isLast], [numbers(after + 1, 3).slice(0, Math.max(0, 3 - after)), false]);
    }
    requireAlike((await startRun(runs, { ...run, attempt: 2 })).log.notes, [
      dropped(3, 0),
      dropped(4, 1),
      dropped(4, 2),
    ]);
  });

  it('the log of events gives a long log in pages without a gap, from wherever one begins', async () => {
    const run = await launch(backend, tenant, 'a');
    for (let first = 3; first < 3 + 300 * 10; first += 10) await log.append(run, deltas(first, 10));
    await runs.finish(run, endingOf('a', { at: 3003 }));
    for (const from of [-1, 2, 7, 2553, 2995, 3002]) {
      const { events, isLast } = await readAll(log, run, from);
      requireAlike([numbersOf(events), isLast], [numbers(from + 1, 3003), true]);
    }
    assert.ok((await readAll(log, run)).pages > 1);
  });

  it('the log of events does not stop at many batches of notes', async () => {
    const run = await launch(backend, tenant, 'a');
    for (let note = 0; note < 300; note += 1) {
      await log.append(run, { ...batch(3), firstNote: note, notes: [dropped(3, note)] });
    }
    await log.append(run, { ...deltas(3, 1), firstNote: 300 });
    requireAlike(numbersOf(eventsOf(await log.read(tenant, 'a', 2)).events), [3]);
    requireAlike(numbersOf(eventsOf(await log.read(tenant, 'a', -1)).events), [0, 1, 2, 3]);
  });

  it('the log of events gives batches of any size', async () => {
    const run = await launch(backend, tenant, 'a');
    const text = `,"delta":"${'x'.repeat(700_000)}"`;
    for (let number = 3; number < 9; number += 1) await log.append(run, batch(number, event(number, undefined, text)));
    await log.append(run, batch(9, event(9, undefined, text), event(10, undefined, text), event(11, undefined, text)));
    await runs.finish(run, endingOf('a', { at: 12 }));
    for (const from of [-1, 3, 9, 10, 11]) {
      const { events, isLast } = await readAll(log, run, from);
      requireAlike([numbersOf(events), isLast], [numbers(from + 1, 12), true]);
    }
    requireAlike(eventsOf(await log.read(tenant, 'a', 9)).events[0], event(10, undefined, text));
  });

  for (const text of TEXTS) {
    it(`the log of events keeps the text ${JSON.stringify(text)}`, async () => {
      const run = await launch(backend, tenant, 'a');
      const written = event(3, undefined, `,"delta":${JSON.stringify(text)}`);
      await log.append(run, batch(3, written, event(4)));
      requireAlike(eventsOf(await log.read(tenant, 'a', 2)).events, [written, event(4)]);
      requireAlike((await startRun(runs, { ...run, attempt: 2 })).log.events.slice(3), [written, event(4)]);
    });
  }

  it('the log of events wakes the readers of this process whenever it has grown', async () => {
    const woken: string[] = [];
    const unsubscribe = backend.runNotices.subscribe({ logged: (ids) => void woken.push(...ids) });
    const run = await launch(backend, tenant, 'woken-1');
    requireAlike(woken, ['woken-1']);
    await log.append(run, deltas(3, 1));
    await runs.finish(run, endingOf('woken-1', { at: 4 }));
    requireAlike(woken, ['woken-1', 'woken-1', 'woken-1']);
    await enqueue(runs, tenant, 'woken-2');
    await runs.conclude(tenant, 'woken-2', () => cancelledOf('woken-2'), {});
    assert.ok(woken.filter((id) => id === 'woken-2').length > 0);
    unsubscribe();
  });
});
