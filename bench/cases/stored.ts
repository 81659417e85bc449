import { type Bench, type Start, STATES } from '../harness/bench.ts';
import type { Case, Load } from '../harness/case.ts';
import type { Server, Variables } from '../harness/processes.ts';
import { toBody, type Traffic } from '../traffic.ts';
import {
  atMost,
  CPU_PER_EVENT,
  CPU_PER_TURN,
  EVENTS_PER_SECOND,
  floor,
  LATENCY,
  on,
  ON,
  ROUND_TRIPS,
  service,
  SHORT,
  toTurnSample,
} from './programs.ts';

/** Sockets that make a few turns each. */
const SOCKETS = 16;

const SAVES_PER_SECOND = 'saves per second';

/** Requests for short stored turns, so many at once. */
function stored(server: Server, bench: Bench, concurrency: number, turns: number) {
  return bench.measure(server, 'json', { url: server.url, body: toBody('bench', SHORT), concurrency, turns });
}

const oneByOne: Load = async (server, bench) =>
  toTurnSample([await stored(server, bench, 1, bench.sizes.countedTurns)]);

/** Short stored turns: one after the other over HTTP, the same on warm sockets, each behind the one before, and many at once. */
const WAYS: readonly (readonly [name: string, load: Load])[] = [
  ['http', oneByOne],
  [
    'warm socket',
    async (server, bench) => {
      const sockets = bench.times(SOCKETS);
      const job = { url: server.socketUrl, body: toBody('bench', SHORT, { stream: true }), sockets };
      const turnsPerSocket = Math.ceil(bench.sizes.countedTurns / sockets);
      await bench.load.run('socket', { ...job, turnsPerSocket: 1 });
      const turns = { ...job, predecessor: 'the one before', turnsPerSocket } as const;
      return toTurnSample([await bench.measure(server, 'socket', turns)]);
    },
  ],
  [
    'http, 32 at once',
    async (server, bench) => {
      const { turns, seconds, cpu } = await stored(server, bench, 32, bench.sizes.saves);
      return { [SAVES_PER_SECOND]: turns / seconds, [CPU_PER_TURN]: cpu / turns };
    },
  ],
];

/** Backends beside others, and the most that their CPU may be of the other's, by the way of `WAYS`. */
const PAIRS: readonly (readonly [
  one: keyof typeof ON,
  other: keyof typeof ON,
  most?: readonly (number | undefined)[],
])[] = [
  ['sqlite', 'memory', [undefined, 1.5]],
  ['postgres', 'memory'],
  ['redis', 'memory'],
  ['redis', 'postgres', [1, 1, 1]],
];

/** Nothing that an operator adds. */
const OFF: Variables = { USAGE_RETENTION_DAYS: '0' };

/** Limits that no turn reaches. */
const LIMITS: Variables = {
  LIMIT_REQUESTS_PER_MINUTE: '1000000000',
  LIMIT_TOKENS_PER_MINUTE: '1000000000000',
  LIMIT_CONCURRENT_TURNS: '1000000',
};

const WITH_ALL: Variables = { ...LIMITS, METRICS: 'true', USAGE_RETENTION_DAYS: '90' };

const collector = floor('collector');

const traced: Start = async (bench) => {
  const { origin } = await bench.server(collector);
  return service({ ...WITH_ALL, OTEL_EXPORTER_OTLP_ENDPOINT: origin, OTEL_TRACES_SAMPLER_ARG: '0.01' })(bench);
};

/** With a floor for each: one that two are compared with would have had twice the turns to become fast. */
const OPERATED = [
  { name: 'on ÷ off', sides: { service: service(WITH_ALL), floor: service(OFF) }, most: 1.05 },
  { name: 'on with 1 % traces ÷ off', sides: { service: traced, floor: service(OFF) }, most: 1.25 },
];

const TURNS_PER_SECOND = 'turns per second';
const CREATED = 'time to response.created, p50, ms';

/** Turns in the background or in the foreground. */
type Placed = (isBackground: boolean) => Load;

const placed = (isBackground: boolean, members: object) => ({ ...(isBackground && { background: true }), ...members });

/** The times of first events, one stream after the other. */
const firstEvent: Placed =
  (isBackground) =>
  async (server, { load, sizes: { requests: turns } }) => {
    const body = toBody('bench', SHORT, placed(isBackground, { stream: true }));
    const { firstEvent: first } = await load.run('sse', { url: server.url, body, concurrency: 1, turns });
    return { [CREATED]: first.p50 };
  };

/** Turns without streams, from the first request to the end of the last turn. */
const wholeTurns: Placed = (isBackground) => async (server, bench) => {
  const { countedTurns: turns } = bench.sizes;
  const job = { url: server.url, body: toBody('bench', SHORT, placed(isBackground, {})), concurrency: 32, turns };
  const { seconds, cpu } = await bench.measure(server, isBackground ? 'drain' : 'json', job);
  return { [TURNS_PER_SECOND]: turns / seconds, [CPU_PER_TURN]: cpu / turns };
};

/** Concurrent streams; a process runs 64 background turns at once. */
async function stream(server: Server, bench: Bench, traffic: Traffic, isBackground: boolean) {
  const body = toBody('bench', traffic, placed(isBackground, { stream: true }));
  const concurrency = Math.min(bench.sizes.streams, 50);
  const turns = concurrency * bench.sizes.turnsPerStream;
  return bench.measure(server, 'sse', { url: server.url, body, concurrency, turns });
}

const flatOut: Placed = (isBackground) => async (server, bench) => {
  const traffic = { deltas: bench.sizes.deltas, burst: 8 };
  const { cpu, events, seconds } = await stream(server, bench, traffic, isBackground);
  return { [CPU_PER_EVENT]: cpu / events, [EVENTS_PER_SECOND]: events / seconds };
};

/** With a delta every 10 ms. The pace decides how many events come a second. */
const paced: Placed = (isBackground) => async (server, bench) => {
  const traffic = { deltas: bench.sizes.pacedDeltas, burst: 1, pauseMs: 10 };
  const { cpu, events } = await stream(server, bench, traffic, isBackground);
  return { [CPU_PER_EVENT]: cpu / events };
};

const BACKGROUND: readonly (readonly [name: string, load: Placed])[] = [
  ['first event', firstEvent],
  ['turns', wholeTurns],
  ['streams, flat out', flatOut],
  ['streams, paced', paced],
];

/** What it costs to store turns, and to run them in the background. */
export const STORED: readonly Case[] = [
  {
    name: 'saves',
    table: 'conversations',
    shows: [SAVES_PER_SECOND, CPU_PER_TURN, LATENCY],
    async prepare(server, bench) {
      await oneByOne(server, bench);
      await bench.analyze();
    },
    rows: () =>
      PAIRS.flatMap(([one, other, most]) =>
        WAYS.map(([way, load], index) => ({
          name: `saves, ${one} ÷ ${other}, ${way}`,
          sides: { service: ON[one], floor: ON[other] },
          load,
          goals: most?.[index] === undefined ? [] : [atMost(CPU_PER_TURN, 'ratio', most[index])],
        })),
      ),
  },
  {
    name: 'operations',
    table: 'operations',
    shows: [CPU_PER_TURN, ROUND_TRIPS],
    rows: () => [
      ...WAYS.flatMap(([way, load]) =>
        OPERATED.map(({ name, sides, most }) => ({
          name: `operations, ${name}, ${way}`,
          sides,
          load,
          goals: [atMost(CPU_PER_TURN, 'ratio', most)],
        })),
      ),
      {
        name: 'operations, shared limits ÷ none, http',
        sides: { service: on('postgres', { ...OFF, ...LIMITS }), floor: on('postgres', OFF) },
        load: oneByOne,
        // Settlements are joined, a few a second; the tenth leaves room for them.
        goals: [atMost(ROUND_TRIPS, 'difference', 1.1)],
      },
    ],
  },
  {
    name: 'background',
    table: 'background',
    shows: [CREATED, TURNS_PER_SECOND, CPU_PER_EVENT, EVENTS_PER_SECOND],
    // Its rows are what the planner of PostgreSQL learns from.
    async prepare(server, bench) {
      await flatOut(true)(server, bench);
      await bench.analyze();
    },
    rows: () =>
      STATES.flatMap((state) =>
        BACKGROUND.map(([name, load]) => ({
          name: `background, ${state}, ${name}`,
          sides: { service: ON[state], floor: ON[state] },
          load: { service: load(true), floor: load(false) },
        })),
      ),
  },
];
