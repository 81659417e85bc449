import { type ModelEvent, type ModelInfo, type ModelSink, PushingProvider, type Turn } from 'antiphon';

import { DELTA, readTraffic } from '../traffic.ts';

/** The event of every delta, precomputed, because the cost of the model is not measured. */
const TEXT: ModelEvent = { type: 'text', delta: DELTA };

/** Writes the requested traffic at full speed. Reports usage, so that the service does not count tokens. */
export class BenchProvider extends PushingProvider {
  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: 'bench', ownedBy: 'bench', created: 0, reasoningEfforts: [] }];
  }

  override push(turn: Turn, sink: ModelSink): Promise<void> {
    const { deltas, burst, pauseMs = 0 } = readTraffic(turn.settings.metadata);
    let left = deltas;
    // Callbacks of the event loop separate bursts without a promise each.
    const pause = (next: () => void): void => {
      if (pauseMs === 0) setImmediate(next);
      else setTimeout(next, pauseMs);
    };
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
          if (waiting === undefined) pause(writeNext);
          else void waiting.then(() => pause(writeNext));
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
