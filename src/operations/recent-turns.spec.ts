import { describe, expect, it } from '@jest/globals';

import { asTenant } from '../access/index.js';
import type { ProviderRegistry } from '../providers/index.js';
import { ClientTraces, RunningTurns, type TurnRecord } from '../responses/index.js';
import { FakeClock } from '../testing/index.js';
import { RecentTurns } from './recent-turns.js';

const RED = asTenant('red');

function turn(responseId: string, more: Partial<TurnRecord> = {}): TurnRecord {
  const caller = { tenant: RED, requestId: 'req' };
  return {
    responseId,
    caller,
    trace: null,
    startedAt: 1000,
    usage: null,
    attempts: [],
    toolRuns: [],
    ...more,
  } as TurnRecord;
}

function start(): RecentTurns {
  const providers = { priceOf: () => undefined } as unknown as ProviderRegistry;
  return new RecentTurns(new RunningTurns(), providers, new ClientTraces(), new FakeClock());
}

describe(RecentTurns.name, () => {
  it('the memory of recent turns remembers the latest 2,000 turns', () => {
    const turns = start();
    for (let id = 0; id <= 2000; id += 1) turns.settled(turn(String(id)));
    expect(turns.find(RED, '0')).toBeUndefined();
    expect(turns.find(RED, '1')?.response_id).toBe('1');
    expect(turns.find(RED, '2000')?.response_id).toBe('2000');
  });

  it('the memory of recent turns tells the latest 100 requests of a turn, with their numbers', () => {
    const turns = start();
    const attempt = { provider: 'p', model: 'm', kind: 'retry', startedAt: 1500, durationMs: 1 } as const;
    const attempts = Array.from({ length: 130 }, () => ({
      ...attempt,
      firstOutputMs: null,
      errorCode: 'server_error',
    }));
    turns.settled(turn('a', { attempts }));
    const told = turns.find(RED, 'a')?.attempts ?? [];
    expect([told.length, told[0]?.number, told.at(-1)?.number]).toEqual([100, 31, 130]);
    expect(told[0]?.started_ms).toBe(500);
  });

  it('the memory of recent turns tells the last run of a background turn that was repeated', () => {
    const turns = start();
    turns.settled(turn('a', { startedAt: 1000, provider: 'first' }));
    turns.settled(turn('a', { startedAt: 2000, provider: 'second' }));
    expect(turns.find(RED, 'a')?.provider).toBe('second');
  });
});
