import { describe, expect, it } from '@jest/globals';

import { readWithSdk } from '../../../test/support/sdk-stream.js';
import type { StreamEvent } from '../../protocol/index.js';
import { checkEventOrder, SequentialIdGenerator } from '../../testing/index.js';
import { resolveSettings } from '../turn/resolve-settings.js';
import { finishedItems } from '../../state/index.js';
import type { AssemblerNote } from './state.js';
import { foldEvents } from './fold-events.js';
import { type OutputEvent, ResponseAssembler } from './response-assembler.js';

const SETTINGS = { ...resolveSettings({ model: 'm' }, null), background: true };

interface Log {
  readonly events: StreamEvent[];
  readonly notes: AssemblerNote[];
}

/** An assembler that goes on from a log. */
function assemble(log: Log): ResponseAssembler {
  const ids = new SequentialIdGenerator();
  for (let used = 0; used < log.events.length; used++) ids.next('used');
  const identity = { id: 'resp_1', createdAt: 1, requestedTier: 'auto', settings: SETTINGS } as const;
  const options = { ...identity, ids, writing: 'events and notes', maxOutputCharacters: 5000 } as const;
  return new ResponseAssembler(options, foldEvents(log));
}

/** A log, and what one process after another adds to it. */
function logOf(...processes: readonly ((assembler: ResponseAssembler) => void)[]): Log {
  const log: Log = { events: [], notes: [] };
  for (const process of processes) {
    const assembler = assemble(log);
    process(assembler);
    log.events.push(...assembler.takeEvents());
    log.notes.push(...assembler.takeNotes());
  }
  return log;
}

const say = (key: string, delta: string): OutputEvent => ({ type: 'text', key, delta });

const queue = (assembler: ResponseAssembler): void => assembler.queue();

/** Finishes one message, and leaves another one half-written. */
const write = (assembler: ResponseAssembler): void => {
  assembler.start();
  assembler.beginPass();
  for (const event of [say('a', 'half '), say('b', 'whole'), { type: 'end', key: 'b' } as const]) assembler.push(event);
};

const drop = (assembler: ResponseAssembler): void => assembler.dropItems();

const cancel = (assembler: ResponseAssembler): void => {
  assembler.cutItems();
  assembler.terminate(assembler.conclude({ status: 'cancelled', usage: null }, 2));
};

const toWire = ({ json }: StreamEvent): Readonly<Record<string, unknown>> => JSON.parse(`${json}}`) as never;
const textsOf = (output: unknown): readonly unknown[] =>
  (output as readonly { content: readonly { text: string }[] }[]).map(({ content }) => content[0]?.text);

describe('a queued response', () => {
  it('a queued response is created and queued in one status, which its run does not repeat', () => {
    const { events } = logOf(queue, (assembler) => {
      assembler.start();
      assembler.start();
    });
    const wire = events.map(toWire);
    expect(wire.map(({ type, sequence_number }) => [sequence_number, type])).toEqual([
      [0, 'response.created'],
      [1, 'response.queued'],
      [2, 'response.in_progress'],
    ]);
    const statuses = wire.map(({ response }) => (response as { readonly status: string }).status);
    expect(statuses).toEqual(['queued', 'queued', 'in_progress']);
  });

  it('the object of a queued response is the one of its events', () => {
    const [created] = logOf(queue).events;
    const response = assemble({ events: [], notes: [] }).queued();
    expect(response).toEqual(created === undefined ? undefined : toWire(created)['response']);
    expect(response).toMatchObject({
      status: 'queued',
      output: [],
      usage: null,
      completed_at: null,
      service_tier: 'auto',
    });
  });
});

describe('a cancelled response', () => {
  it.each([
    ['while it is queued', [queue, cancel], []],
    ['while it runs', [queue, write, cancel], ['half ', 'whole']],
    ['after another process took over', [queue, write, drop, cancel], ['whole']],
  ])('a cancelled response ends with an event that the SDK accepts, %s', async (_, processes, texts) => {
    const { events, notes } = logOf(...processes);
    checkEventOrder(events.map(toWire), { transport: 'ws' });
    const { type, response } = events.at(-1) ?? {};
    expect(type).toBe('response.incomplete');
    expect(response).toMatchObject({
      status: 'cancelled',
      completed_at: null,
      usage: null,
      error: null,
      incomplete_details: null,
    });
    expect(textsOf(response?.output)).toEqual(texts);
    expect(await readWithSdk(events)).toMatchObject({ status: 'cancelled', output: response?.output });
    expect(foldEvents({ events, notes }).ended).toBe(true);
  });
});

describe(finishedItems, () => {
  const log = logOf(queue, write, drop, (assembler) => {
    assembler.beginPass();
    assembler.push(say('c', 'more'));
    assembler.endPass({ reason: 'stop' });
    assembler.push({ type: 'function_call', name: 'open' });
  });

  it('an end lists what is finished, without what was left out', () => {
    expect(textsOf(finishedItems(log))).toEqual(['whole', 'more']);
  });

  it('an end needs only the events and notes of ends', () => {
    const events = log.events.filter(({ type }) => type === 'response.output_item.done');
    const notes = log.notes.filter(({ type }) => type === 'dropped');
    expect(finishedItems({ events, notes })).toEqual(finishedItems(log));
  });

  it('an end keeps the order in which items began', () => {
    const both = logOf(queue, write, (assembler) => assembler.push({ type: 'end', key: 'a' }));
    expect(textsOf(finishedItems(both))).toEqual(['half ', 'whole']);
  });
});

describe(foldEvents, () => {
  it('an end knows from the notes of an earlier version how the model ended', () => {
    const notes = [
      { before: 0, type: 'pass' },
      { before: 0, type: 'finish', reason: 'length' },
    ] as const;
    expect(foldEvents({ events: [], notes }).passes).toMatchObject([{ finish: { reason: 'length' } }]);
  });
});
