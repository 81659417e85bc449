import { describe, expect, it } from '@jest/globals';

import { asTenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { type TurnRecord, UsageRecords } from '../../responses/index.js';
import { type StateBackend, StoreUnavailableError, type UsageRecord, UsageStore } from '../../state/index.js';
import { FakeClock } from '../../testing/index.js';
import { LastWaits } from '../../time/index.js';
import { UsageRecorder } from './usage-recorder.js';

/** Keeps what it is given, unless it is down. */
class Store extends UsageStore {
  readonly batches: (readonly UsageRecord[])[] = [];
  isDown = false;

  override async record(records: readonly UsageRecord[]): Promise<void> {
    if (this.isDown) throw new StoreUnavailableError('down');
    this.batches.push(records);
  }

  override async report() {
    return [];
  }

  override async purge(): Promise<boolean> {
    return false;
  }

  get ids(): readonly string[] {
    return this.batches.flat().map(({ responseId }) => responseId);
  }
}

const settled = (): Promise<void> => new Promise(setImmediate);

function turn(id: number | string, parts: Partial<TurnRecord> = {}): TurnRecord {
  return {
    ...{
      responseId: String(id),
      model: 'm',
      provider: 'p',
      door: 'responses',
      transport: 'json',
      background: false,
      status: 'completed',
    },
    caller: { tenant: asTenant('acme'), requestId: 'req' },
    ...{ startedAt: 1000, durationMs: 5, usage: null, isUsageStored: false },
    ...parts,
  } as TurnRecord;
}

function start(parts: Partial<Environment> = {}) {
  const [store, clock] = [new Store(), new FakeClock()];
  const environment = Object.assign(new Environment(), parts);
  const backend = { usage: store } as unknown as StateBackend;
  const recorder = new UsageRecorder(
    backend,
    new UsageRecords(backend, environment),
    clock,
    new LastWaits(clock),
    environment,
  );
  return { store, clock, recorder };
}

describe('UsageRecorder', () => {
  it('the recorder of usage writes what waits after a second', async () => {
    const { store, clock, recorder } = start();
    recorder.settled(turn(1));
    recorder.settled(turn(2));
    clock.advance(999);
    await settled();
    expect(store.batches).toEqual([]);
    clock.advance(1);
    await settled();
    expect(store.batches.map((batch) => batch.length)).toEqual([2]);
  });

  it('the recorder of usage writes a hundred at once', async () => {
    const { store, recorder } = start();
    for (let id = 0; id < 100; id += 1) recorder.settled(turn(id));
    await settled();
    expect(store.batches.map((batch) => batch.length)).toEqual([100]);
  });

  it('the recorder of usage tries again while the storage is not available, and loses nothing', async () => {
    const { store, clock, recorder } = start();
    store.isDown = true;
    recorder.settled(turn(1));
    clock.advance(1000);
    await settled();
    recorder.settled(turn(2));
    store.isDown = false;
    clock.advance(1000);
    await settled();
    expect(store.ids).toEqual(['1', '2']);
  });

  it('the recorder of usage keeps the latest 10,000 while the storage is not available', async () => {
    const { store, recorder } = start();
    store.isDown = true;
    for (let id = 0; id < 10_005; id += 1) recorder.settled(turn(id));
    await settled();
    store.isDown = false;
    await recorder.flush();
    expect(store.ids).toHaveLength(10_000);
    expect(store.ids[0]).toBe('5');
  });

  it('the recorder of usage writes the rest at shutdown', async () => {
    const { store, recorder } = start();
    recorder.settled(turn(1));
    await recorder.onApplicationShutdown();
    expect(store.ids).toEqual(['1']);
  });

  it('the recorder of usage gives a report that asks what has come meanwhile', async () => {
    const { store, recorder } = start();
    recorder.settled(turn(1));
    const first = recorder.flush();
    recorder.settled(turn(2));
    await recorder.flush();
    await first;
    expect(store.ids).toEqual(['1', '2']);
  });

  it('the recorder of usage leaves out turns whose usage is stored with their responses', async () => {
    const { store, recorder } = start();
    recorder.settled(turn(1, { isUsageStored: true }));
    recorder.settled(turn(2));
    await recorder.flush();
    expect(store.ids).toEqual(['2']);
  });

  it('the recorder of usage leaves out refused turns that used nothing', async () => {
    const { store, recorder } = start();
    recorder.settled(turn(1, { status: 'refused' }));
    recorder.settled(turn(2, { status: 'disconnected' }));
    await recorder.flush();
    expect(store.ids).toEqual(['2']);
  });

  it('the recorder of usage records nothing with USAGE_RETENTION_DAYS=0', async () => {
    const { store, recorder } = start({ USAGE_RETENTION_DAYS: 0 });
    recorder.settled(turn(1));
    await recorder.flush();
    expect(store.ids).toEqual([]);
  });
});
