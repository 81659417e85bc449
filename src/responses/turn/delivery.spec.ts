import { describe, expect, it } from '@jest/globals';

import type { StreamEvent } from '../../protocol/index.js';
import { SequentialIdGenerator } from '../../testing/index.js';
import { ResponseAssembler } from '../assembler/response-assembler.js';
import { ActiveTurn } from './active-turn.js';
import type { AdmittedTurn } from './admit.js';
import { Delivery } from './delivery.js';
import { resolveSettings } from './resolve-settings.js';

/** A client that takes a batch when the test says so. */
class SlowSink {
  readonly batches: (readonly StreamEvent[])[] = [];
  readonly waiting: PromiseWithResolvers<undefined>[] = [];

  write(events: readonly StreamEvent[]): Promise<void> {
    this.batches.push(events);
    const taken = Promise.withResolvers<undefined>();
    this.waiting.push(taken);
    return taken.promise;
  }
}

function begin(sink: ConstructorParameters<typeof Delivery>[2]): {
  readonly assembler: ResponseAssembler;
  readonly delivery: Delivery;
  readonly turn: ActiveTurn;
} {
  const assembler = new ResponseAssembler({
    id: 'resp_1',
    createdAt: 1,
    requestedTier: 'auto',
    settings: resolveSettings({ model: 'm' }, null),
    ids: new SequentialIdGenerator(),
    writing: 'events',
    maxOutputCharacters: 1000,
  });
  const turn = new ActiveTurn({ responseId: 'resp_1' } as AdmittedTurn);
  return { assembler, turn, delivery: new Delivery(turn, assembler, sink) };
}

describe('the delivery of events', () => {
  it('the delivery of events gives a client that is behind nothing more, and then all that was written meanwhile, in order', async () => {
    const sink = new SlowSink();
    const { assembler, delivery } = begin(sink);
    assembler.start();
    const first = delivery.deliver();
    assembler.push({ type: 'text', delta: 'one' });
    // A provider that does not wait, or a timer.
    const second = delivery.deliver();
    assembler.push({ type: 'text', delta: 'two' });
    void delivery.deliver();
    expect(sink.batches).toHaveLength(1);
    sink.waiting[0]?.resolve(undefined);
    await sink.waiting[0]?.promise;
    sink.waiting[1]?.resolve(undefined);
    await Promise.all([first, second]);
    expect(sink.batches).toHaveLength(2);
    expect(sink.batches.flat().map(({ sequenceNumber }) => sequenceNumber)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(delivery.deliver()).toBeUndefined();
  });

  it('the delivery of events stops the turn of a transport that breaks, and asks it no more', () => {
    let asked = 0;
    const { assembler, delivery, turn } = begin({
      write: () => {
        asked += 1;
        throw new Error('the head was sent already');
      },
    });
    assembler.start();
    expect(delivery.deliver()).toBeUndefined();
    assembler.push({ type: 'text', delta: 'one' });
    expect(delivery.deliver()).toBeUndefined();
    expect({ asked, reason: turn.stopReason }).toEqual({ asked: 1, reason: 'cut' });
  });
});
