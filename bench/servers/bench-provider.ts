import { setImmediate } from 'node:timers/promises';

import { type ModelEvent, type ModelInfo, ModelProviderBase, type Turn } from 'antiphon';

import { DELTA, readTraffic } from '../traffic.ts';

/** Writes the traffic that a request asks for, as fast as it is taken. Reports usage, so that nobody counts tokens. */
export class BenchProvider extends ModelProviderBase {
  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: 'bench', ownedBy: 'bench', created: 0, reasoningEfforts: [] }];
  }

  override async *generate(turn: Turn): AsyncGenerator<readonly ModelEvent[]> {
    const { deltas, burst } = readTraffic(turn.settings.metadata);
    for (let sent = 0; sent < deltas; sent += burst) {
      yield Array.from({ length: Math.min(burst, deltas - sent) }, () => ({ type: 'text', delta: DELTA }));
      await setImmediate();
    }
    yield [
      { type: 'usage', input: 8, output: deltas },
      { type: 'finish', reason: 'stop' },
    ];
  }
}
