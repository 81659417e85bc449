import type { Bench, Start } from '../harness/bench.ts';
import type { Case, Load } from '../harness/case.ts';
import type { Sample } from '../harness/measure.ts';
import type { Server, Variables } from '../harness/processes.ts';
import type { StreamedOutcome } from '../load/http.ts';
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
  STATES,
  toTurnSample,
} from './programs.ts';

/** Sockets that make a few turns each. */
const SOCKETS = 16;

const SAVES_PER_SECOND = 'saves per second';

/** Requests for short stored turns, so many at once. */
function stored(server: Server, bench: Bench, concurrency: number, requests: number) {
  return bench.measure(server, 'json', { url: server.url, body: toBody('bench', SHORT), concurrency, requests });
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

/** A backend beside another one. */
interface Pair {
  readonly service: keyof typeof ON;
  readonly floor: keyof typeof ON;
  /** The most that its CPU may be of the other's, by the way of `WAYS`. */
  readonly most?: readonly (number | undefined)[];
}

const PAIRS: readonly Pair[] = [
  { service: 'sqlite', floor: 'memory', most: [undefined, 1.5] },
  { service: 'postgres', floor: 'memory' },
  { service: 'redis', floor: 'memory' },
  { service: 'redis', floor: 'postgres', most: [1, 1, 1] },
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

/** Readers of one stream. */
const READERS = 50;

/** Flat out, as long as others or longer. */
const flat = ({ sizes }: Bench, factor = 1): Traffic => ({ deltas: sizes.deltas * factor, burst: 8 });

/** With a delta every 10 ms. */
const slow = ({ sizes }: Bench): Traffic => ({ deltas: sizes.pacedDeltas, burst: 1, pauseMs: 10 });

/** The length of a long stream, as a multiple of the usual one. */
const LONG = 50;

/** Members of a request, in the background or in the foreground. */
const where = (isBackground: boolean, stream: boolean) => ({
  ...(isBackground ? { background: true } : {}),
  ...(stream ? { stream } : {}),
});

function toStreamSample({ cpu, events, seconds }: StreamedOutcome & { readonly cpu: number }): Sample {
  return { [CPU_PER_EVENT]: cpu / events, [EVENTS_PER_SECOND]: events / seconds };
}

/** A background stream with so many readers. */
function follow(server: Server, bench: Bench, traffic: Traffic, readers = 1) {
  const body = toBody('bench', traffic, where(true, true));
  return bench.measure(server, 'follow', { url: server.url, body, readers });
}

/** The times of first events, one stream after the other. */
function firstEvent(isBackground: boolean): Load {
  return async (server, { load, sizes: { requests: turnsPerStream } }) => {
    const body = toBody('bench', SHORT, where(isBackground, true));
    const { firstEvent: first } = await load.run('sse', { url: server.url, body, streams: 1, turnsPerStream });
    return { [CREATED]: first.p50 };
  };
}

/** Turns without streams, from the first request to the end of the last turn. */
function turns(isBackground: boolean): Load {
  return async (server, bench) => {
    const { countedTurns: requests } = bench.sizes;
    const job = {
      url: server.url,
      body: toBody('bench', SHORT, where(isBackground, false)),
      concurrency: 32,
      requests,
    };
    const { seconds, cpu } = await bench.measure(server, isBackground ? 'drain' : 'json', job);
    return { [TURNS_PER_SECOND]: requests / seconds, [CPU_PER_TURN]: cpu / requests };
  };
}

/** Concurrent streams; a process runs 64 background turns at once. */
function streams(toTraffic: (bench: Bench) => Traffic): (isBackground: boolean) => Load {
  return (isBackground) => async (server, bench) => {
    const body = toBody('bench', toTraffic(bench), where(isBackground, true));
    const job = { streams: Math.min(bench.sizes.streams, 50), turnsPerStream: bench.sizes.turnsPerStream };
    return toStreamSample(await bench.measure(server, 'sse', { url: server.url, body, ...job }));
  };
}

const live: Load = async (server, bench) => toStreamSample(await follow(server, bench, flat(bench, bench.times(LONG))));

/** A long stream after its end. It is made for this round: STATE=memory forgets old responses. */
const replay: Load = async (server, bench) => {
  const { responseId } = await follow(server, bench, flat(bench, bench.times(LONG)));
  const url = `${server.url}/${responseId}?stream=true&include_obfuscation=false`;
  return toStreamSample(await bench.measure(server, 'sse', { url, streams: 1, turnsPerStream: 1 }));
};

/** The pace decides how many events come a second. */
const withoutRate =
  (load: Load): Load =>
  async (server, bench) => {
    const sample = await load(server, bench);
    return { [CPU_PER_EVENT]: sample[CPU_PER_EVENT] ?? NaN };
  };

function readers(count: number): Load {
  return withoutRate(async (server, bench) => toStreamSample(await follow(server, bench, slow(bench), count)));
}

const eitherWay = (load: (isBackground: boolean) => Load) => ({ service: load(true), floor: load(false) });

const BACKGROUND = [
  { name: 'first event', load: eitherWay(firstEvent) },
  { name: 'turns', load: eitherWay(turns) },
  { name: 'streams, flat out', load: eitherWay(streams(flat)) },
  { name: 'streams, paced', load: eitherWay((isBackground) => withoutRate(streams(slow)(isBackground))) },
  { name: 'replay ÷ live', load: { service: replay, floor: live } },
  { name: `${READERS} readers ÷ 1`, load: { service: readers(READERS), floor: readers(1) } },
];

/** What it costs to store turns, to run them in the background, and to watch them. */
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
      PAIRS.flatMap(({ service: one, floor: other, most }) =>
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
      await live(server, bench);
      await bench.analyze();
    },
    rows: () =>
      STATES.flatMap((state) =>
        BACKGROUND.map(({ name, load }) => ({
          name: `background, ${state}, ${name}`,
          sides: { service: ON[state], floor: ON[state] },
          load,
        })),
      ),
  },
];
