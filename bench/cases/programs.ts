import { type Bench, type Start, STATES } from '../harness/bench.ts';
import type { Goal, Load } from '../harness/case.ts';
import type { Sample } from '../harness/measure.ts';
import type { Variables } from '../harness/processes.ts';
import type { FloorName } from '../servers/floors.ts';
import type { RelayName } from '../servers/relays.ts';
import { MODEL_PREFIX } from '../traffic.ts';

/** Figures of several cases. */
export const CPU_PER_EVENT = 'server CPU per event, µs';
export const CPU_PER_TURN = 'server CPU per turn, µs';
export const CPU_PER_REQUEST = 'server CPU per request, µs';
export const EVENTS_PER_SECOND = 'events per second';
export const REQUESTS_PER_SECOND = 'requests per second';
export const LATENCY = 'latency of a turn, ms';
export const ROUND_TRIPS = 'database round trips per turn';

/** A short answer, so that the turn dominates rather than its text. */
export const SHORT = { deltas: 8, burst: 8 };

/** The service as it is built, with its simulator. */
export const DIST = '../dist/main.js';

/** Starts the built service. */
export function built(variables?: Variables): Start {
  return (bench) => bench.start(DIST, variables);
}

/** Starts the service with models that cost nothing. */
export function service(variables?: Variables): Start {
  return (bench) => bench.start('servers/service.ts', variables);
}

/** Starts a bare floor. */
export function floor(FLOOR: FloorName): Start {
  return (bench) => bench.start('servers/floors.ts', { FLOOR });
}

/** Starts the honest floor, for HTTP and WebSocket. */
export const honest: Start = (bench) => bench.start('servers/honest.ts');

/** Starts the upstream. */
export const upstream: Start = (bench) => bench.start('servers/upstream.ts');

/** Starts a bare relay before the upstream. */
export function relay(RELAY: RelayName): Start {
  return async (bench) => bench.start('servers/relays.ts', { RELAY, UPSTREAM: (await bench.server(upstream)).origin });
}

/** Starts the built service before the upstream, with these settings of the provider. */
export function before(provider: object, variables?: (bench: Bench) => Promise<Variables>): Start {
  return async (bench) => {
    const base_url = `${(await bench.server(upstream)).origin}/v1`;
    const providers = { upstream: { base_url, discover: false, ...provider } };
    const models = [{ prefix: MODEL_PREFIX, provider: 'upstream' }];
    const PROVIDERS_FILE = await bench.file(JSON.stringify({ providers, models }));
    return await bench.start(DIST, { ...(await variables?.(bench)), PROVIDERS_FILE });
  };
}

/** Starts another service with an empty state of its own. */
export function on(state: (typeof STATES)[number], variables: Variables = {}): Start {
  return async (bench) => bench.start('servers/service.ts', { ...(await bench.state(state)), ...variables });
}

/** Starts the service with an empty state of its own, one for each backend. */
export const ON = Object.fromEntries(STATES.map((state) => [state, on(state)])) as Record<
  (typeof STATES)[number],
  Start
>;

/** A goal that is met up to this value. */
export function atMost(figure: string, of: Goal['of'], most: number): Goal {
  return { figure, of, atMost: most };
}

/** A goal that is met from this value on. */
export function atLeast(figure: string, of: Goal['of'], least: number): Goal {
  return { figure, of, atLeast: least };
}

/** Requests that are not streamed, 32 at once. */
export function json(body: string, path = '/v1/responses'): Load {
  return async (server, bench) => {
    const { jsonRequests: turns } = bench.sizes;
    const job = { url: server.origin + path, body, concurrency: 32, turns };
    const { bytes, seconds, cpu } = await bench.measure(server, 'json', job);
    return {
      [REQUESTS_PER_SECOND]: turns / seconds,
      [CPU_PER_REQUEST]: cpu / turns,
      'server cores in use': cpu / 1e6 / seconds,
      'bytes per answer': bytes / turns,
    };
  };
}

/** The cost of turns that ran one at a time, so that latencies are independent, measured in several parts. */
export function toTurnSample(
  costs: readonly { turns: number; seconds: number; cpu: number; roundTrips: number }[],
): Sample {
  const sum = (member: keyof (typeof costs)[number]): number => costs.reduce((total, cost) => total + cost[member], 0);
  const [turns, roundTrips] = [sum('turns'), sum('roundTrips')];
  return {
    [CPU_PER_TURN]: sum('cpu') / turns,
    [LATENCY]: (sum('seconds') * 1000) / turns,
    ...(roundTrips === 0 ? {} : { [ROUND_TRIPS]: roundTrips / turns }),
  };
}
