import { DELTA, readTraffic } from '../traffic.ts';
import { makeId, toMessage, toOutputText } from './floor-items.ts';
import { type FloorRequest, toSnapshot, toUsage } from './floor-snapshot.ts';

/** The Response to a request without streaming, with all members that the service sends. */
export function toJsonAnswer({ model, metadata }: FloorRequest): object {
  const { deltas } = readTraffic(metadata);
  const text = DELTA.repeat(deltas);
  const snapshot = toSnapshot({
    id: makeId('resp'),
    createdAt: Math.floor(Date.now() / 1000),
    model,
    metadata,
    status: 'completed',
    output: [toMessage(makeId('msg'), 'assistant', toOutputText(text))],
    usage: toUsage(8, deltas),
  });
  return { ...snapshot, output_text: text };
}
