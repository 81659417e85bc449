import { compare, type Figure, type Sample } from '../measure.ts';
import type { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { FRAMING_EVENTS, toRequestBody, type Traffic } from '../traffic.ts';
import type { Sizes } from './benchmark-case.ts';

/** The figure that the goals are about. */
export const CPU_PER_EVENT = 'server CPU per event, µs';

/** Who streams what, to how many. */
export interface SseContest {
  readonly service: Server;
  readonly floor: Server;
  readonly load: LoadGenerator;
  readonly model: string;
  readonly traffic: Traffic;
}

/** Compares the two servers by rounds of streams. Throws when an answer has another number of events than its traffic. */
export function compareStreams(contest: SseContest, sizes: Sizes): Promise<readonly Figure[]> {
  const { service, floor } = contest;
  return compare(
    { service: () => runRound(service, contest, sizes), floor: () => runRound(floor, contest, sizes) },
    sizes,
  );
}

async function runRound(server: Server, { load, model, traffic }: SseContest, sizes: Sizes): Promise<Sample> {
  const { streams, turnsPerStream } = sizes;
  const url = `${server.origin}/v1/responses`;
  const body = toRequestBody(model, traffic);
  const cpuBefore = await server.cpuMicroseconds();
  const { turns, events, bytes, seconds } = await load.run({ type: 'sse', url, body, streams, turnsPerStream });
  const cpu = (await server.cpuMicroseconds()) - cpuBefore;
  const expected = turns * (traffic.deltas + FRAMING_EVENTS);
  if (events !== expected) throw new Error(`${events} events came in ${turns} turns, not ${expected}`);
  return {
    [CPU_PER_EVENT]: cpu / events,
    'events per second': events / seconds,
    'turns per second': turns / seconds,
    // Below one, something else than the server bounds the throughput: the load generator, or the machine.
    'server cores in use': cpu / 1e6 / seconds,
    'bytes per event': bytes / events,
  };
}
