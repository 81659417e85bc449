import { type ModelEvent, type ModelInfo, type ModelSink, PushingProvider, type Turn } from 'antiphon';

import { DELTA, readTraffic } from '../traffic.ts';

/** Every delta is the same, so it is made once: what a model costs is not what is measured. */
const TEXT: ModelEvent = { type: 'text', delta: DELTA };

/** Writes the traffic that a request asks for, as fast as it is taken. Reports usage, so that nobody counts tokens. */
export class BenchProvider extends PushingProvider {
  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: 'bench', ownedBy: 'bench', created: 0, reasoningEfforts: [] }];
  }

  override push(turn: Turn, sink: ModelSink): Promise<void> {
    const { deltas, burst } = readTraffic(turn.settings.metadata);
    let left = deltas;
    // Bursts are told apart by callbacks of the event loop, which need no promise each.
    return new Promise((resolve) => {
      const writeNext = (): void => {
        if (sink.isClosed) {
          resolve();
        } else if (left === 0) {
          resolve(sink.write(toEnd(deltas)));
        } else {
          const count = Math.min(burst, left);
          left -= count;
          const waiting = sink.write(new Array<ModelEvent>(count).fill(TEXT));
          if (waiting === undefined) setImmediate(writeNext);
          else void waiting.then(() => setImmediate(writeNext));
        }
      };
      writeNext();
    });
  }
}

function toEnd(deltas: number): readonly ModelEvent[] {
  return [
    { type: 'usage', input: 8, output: deltas },
    { type: 'finish', reason: 'stop' },
  ];
}
