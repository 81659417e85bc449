import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Bench, Start } from '../harness/bench.ts';
import type { Goal, Rounds } from '../harness/case.ts';
import type { Sample } from '../harness/measure.ts';
import type { Variables } from '../harness/processes.ts';
import type { FloorName } from '../servers/floors.ts';
import type { RelayName } from '../servers/relays.ts';
import type { Sizes } from '../sizes.ts';
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
  const start: Start = (bench) => bench.start(DIST, variables);
  return variables === undefined ? common(start, 'built') : start;
}

/** Starts the service with models that cost nothing. */
export function service(variables?: Variables): Start {
  const start: Start = (bench) => bench.start('servers/service.ts', variables);
  return variables === undefined ? common(start, 'service') : start;
}

const commons = new Map<string, Start>();

/** Starts a program once for all cases of a run that measures nothing, and for those that start one of the same name. */
function common(start: Start, name: string): Start {
  const first = commons.get(name) ?? start;
  commons.set(name, first);
  return (bench) => (bench.common === bench ? start(bench) : bench.common.server(first));
}

/** Starts a bare floor. */
export function floor(FLOOR: FloorName): Start {
  return common((bench) => bench.start('servers/floors.ts', { FLOOR }), `floor ${FLOOR}`);
}

/** Starts the honest floor, for HTTP and WebSocket. */
export const honest = common((bench) => bench.start('servers/honest.ts'), 'honest');

/** Starts the upstream. */
export const upstream = common((bench) => bench.start('servers/upstream.ts'), 'upstream');

/** Starts a bare relay before the upstream. */
export function relay(RELAY: RelayName): Start {
  const start: Start = async (bench) =>
    bench.start('servers/relays.ts', { RELAY, UPSTREAM: (await bench.server(upstream)).origin });
  return common(start, `relay ${RELAY}`);
}

/** Starts the built service before the upstream, with these settings of the provider. */
export function before(provider: object, variables?: (bench: Bench) => Promise<Variables>): Start {
  const start: Start = async (bench) => {
    const base_url = `${(await bench.server(upstream)).origin}/v1`;
    const PROVIDERS_FILE = join(await bench.folder(), 'providers.json');
    const providers = { upstream: { base_url, discover: false, ...provider } };
    await writeFile(
      PROVIDERS_FILE,
      JSON.stringify({ providers, models: [{ prefix: MODEL_PREFIX, provider: 'upstream' }] }),
    );
    return await bench.start(DIST, { ...(await variables?.(bench)), PROVIDERS_FILE });
  };
  return variables === undefined ? common(start, `before ${JSON.stringify(provider)}`) : start;
}

/** The names of the backends. */
export const STATES = ['memory', 'sqlite', 'postgres', 'redis'] as const;

/** Starts the service with an empty state of its own, one for each backend. */
export const ON = {
  memory: common(on('memory'), 'memory'),
  sqlite: common(on('sqlite'), 'sqlite'),
  postgres: common(on('postgres'), 'postgres'),
  redis: common(on('redis'), 'redis'),
};

/** Starts another service with an empty state of its own. */
export function on(state: (typeof STATES)[number], variables: Variables = {}): Start {
  return async (bench) => bench.start('servers/service.ts', { ...(await bench.state(state)), ...variables });
}

/** A goal that is met up to this value. */
export function atMost(figure: string, of: Goal['of'], most: number): Goal {
  return { figure, of, atMost: most };
}

/** A goal that is met from this value on. */
export function atLeast(figure: string, of: Goal['of'], least: number): Goal {
  return { figure, of, atLeast: least };
}

/** Fewer rounds, where one takes seconds. */
export function longRounds({ longRounds: rounds, warmUps }: Sizes): Rounds {
  return { rounds, warmUps: Math.min(1, warmUps) };
}

/** The cost of turns that ran one at a time, so that latencies are independent, measured in several parts. */
export function toTurnSample(
  costs: readonly { turns: number; seconds: number; cpu: number; roundTrips: number }[],
): Sample {
  const sum = (member: 'turns' | 'seconds' | 'cpu' | 'roundTrips'): number =>
    costs.reduce((total, cost) => total + cost[member], 0);
  const turns = sum('turns');
  const roundTrips = sum('roundTrips');
  return {
    [CPU_PER_TURN]: sum('cpu') / turns,
    [LATENCY]: (sum('seconds') * 1000) / turns,
    ...(roundTrips === 0 ? {} : { [ROUND_TRIPS]: roundTrips / turns }),
  };
}
