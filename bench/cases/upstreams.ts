import type { Bench } from '../harness/bench.ts';
import type { Case, Load } from '../harness/case.ts';
import type { Sample, Side } from '../harness/measure.ts';
import type { Server } from '../harness/processes.ts';
import type { StreamOutcome } from '../load/http.ts';
import type { Sizes } from '../options.ts';
import type { RelayName } from '../servers/relays.ts';
import { FRAMING_EVENTS, toBody, toChatBody, toModel, type Traffic } from '../traffic.ts';
import {
  atLeast,
  atMost,
  before,
  CPU_PER_REQUEST,
  CPU_PER_TURN,
  json,
  relay,
  REQUESTS_PER_SECOND,
  upstream,
} from './programs.ts';

const FIRST_DELTA = 'time to first delta, p50, ms';
const FIRST_DELTA_P99 = 'time to first delta, p99, ms';
const DELAY = 'delay of a delta, p50, ms';
const DELTAS_PER_SECOND = 'deltas per second';
const CPU_PER_DELTA = 'server CPU per delta, µs';

/** Connections to an upstream: more than streams, as in the relay. */
const CONNECTIONS = 4096;

/** An upstream, as the service reaches it with these settings of its provider, and the relay. */
interface Kind {
  readonly name: string;
  readonly provider: object;
  readonly relay: RelayName;
}

const CHAT: Kind = { name: 'relay', provider: { connections: CONNECTIONS }, relay: 'chat' };
const SSE: Kind = {
  name: 'responses over SSE',
  provider: { kind: 'responses', connections: CONNECTIONS },
  relay: 'responses',
};
const SOCKETS: Kind = {
  name: 'responses over WebSocket',
  provider: { kind: 'responses', supports_websockets: true, websocket_connections: CONNECTIONS },
  relay: 'sockets',
};

/** The service and the relay before an upstream, and the upstream itself. */
function sidesOf(kind: Kind) {
  return { direct: upstream, service: before(kind.provider), floor: relay(kind.relay) };
}

/** Streams of one round. */
interface Relayed {
  readonly traffic: Traffic;
  readonly concurrency: number;
  /** Measured turns. */
  readonly turns: number;
  /** Time over which the start of streams is spread, ms. */
  readonly spreadMs: number;
}

type Cost = StreamOutcome & { readonly cpu: number; readonly deltas: number };

/** Streams from one side. Throws an Error if an event is missing. */
async function stream(kind: Kind, side: Side, relayed: Relayed, server: Server, bench: Bench): Promise<Cost> {
  const { traffic, ...job } = relayed;
  const isChat = side === 'direct' && kind === CHAT;
  const model = toModel(traffic);
  // All turns belong to one conversation, so that they find open sockets: the relay gives them any.
  const conversation = kind === CHAT ? {} : { prompt_cache_key: 'bench' };
  const body = isChat ? toChatBody(model, true) : toBody(model, null, { stream: true, ...conversation });
  const url = isChat ? `${server.origin}/v1/chat/completions` : server.url;
  const { deltas } = traffic;
  const outcome = await bench.measure(server, 'sse', { url, body, stamps: deltas, ...job });
  const expected = outcome.turns * (deltas + (isChat ? 3 : FRAMING_EVENTS));
  if (outcome.events === expected) return { ...outcome, deltas: outcome.turns * deltas };
  throw new Error(`${outcome.events} events came in ${outcome.turns} turns, not ${expected}`);
}

type ToSample = (cost: Cost) => Sample;

/** A load for each side. */
function loadsOf(kind: Kind, toRelayed: (sizes: Sizes) => Relayed, samples: Partial<Record<Side, ToSample>>) {
  const toLoad =
    (side: Side, toSample: ToSample): Load =>
    async (server, bench) =>
      toSample(await stream(kind, side, toRelayed(bench.sizes), server, bench));
  return Object.fromEntries(Object.entries(samples).map(([side, to]) => [side, toLoad(side as Side, to)]));
}

/** Latency, which is only meaningful while no process is saturated. */
const toDelays = ({ firstDelta, delay }: Cost): Sample => ({
  [FIRST_DELTA]: firstDelta.p50,
  [FIRST_DELTA_P99]: firstDelta.p99,
  [DELAY]: delay.p50,
  'delay of a delta, p99, ms': delay.p99,
});

const toDelaysAndCosts = (cost: Cost): Sample => ({
  ...toDelays(cost),
  [CPU_PER_TURN]: cost.cpu / cost.turns,
  [CPU_PER_DELTA]: cost.cpu / cost.deltas,
  'server cores in use': cost.cpu / 1e6 / cost.seconds,
});

const toThroughput = ({ deltas, seconds }: Cost): Sample => ({ [DELTAS_PER_SECOND]: deltas / seconds });

const toThroughputAndCosts = (cost: Cost): Sample => ({
  ...toThroughput(cost),
  [CPU_PER_DELTA]: cost.cpu / cost.deltas,
  // Below one, the upstream, the load generator or the machine limits the throughput.
  'server cores in use': cost.cpu / 1e6 / cost.seconds,
  'bytes per event': cost.bytes / cost.events,
});

const LATENCY = { direct: toDelays, service: toDelaysAndCosts, floor: toDelaysAndCosts };
const THROUGHPUT = { service: toThroughputAndCosts, floor: toThroughputAndCosts };

/** Short answers at full speed, until V8 has compiled what a turn runs: so many turns for each request of a round. */
function warmUp(kind: Kind, turns: number): NonNullable<Case['prepare']> {
  return (server, bench, side) => {
    const traffic = { deltas: 10, burst: 1 };
    const relayed = { traffic, concurrency: 32, turns: bench.times(turns) * bench.sizes.requests, spreadMs: 0 };
    return stream(kind, side, relayed, server, bench);
  };
}

function flatOut(more: number) {
  return ({ deltas, requests }: Sizes): Relayed => {
    return { traffic: { deltas, burst: 1 }, concurrency: 32, turns: Math.max(more * requests, 32), spreadMs: 0 };
  };
}

/** Starts are spread over one answer, so that requests and deltas do not coincide. */
function paced(concurrency: number, pauseMs: number, most: number, turns: number) {
  return (sizes: Sizes): Relayed => {
    const deltas = Math.min(most, sizes.deltas);
    return { traffic: { deltas, burst: 1, pauseMs }, concurrency, turns, spreadMs: deltas * pauseMs };
  };
}

/** Streams with a delta each 10 ms: about the speed of a fast model; long enough that deltas outweigh the beginning of a turn. */
const atModelSpeed = (streams: number, turns: number) => paced(streams, 10, 64, turns);

/** Latency of short answers while a model writes at its own pace, slower with more streams so that no process is saturated; and throughput. */
function relayRows(kind: Kind, { mostStreams, requests }: Sizes) {
  const sides = sidesOf(kind);
  const paces = [
    { streams: 32, pauseMs: 10 },
    { streams: 256, pauseMs: 80 },
  ].filter(({ streams }) => streams <= mostStreams);
  return [
    ...paces.map(({ streams, pauseMs }) => ({
      name: `${kind.name}, paced, ${streams} at once`,
      sides,
      load: loadsOf(kind, paced(streams, pauseMs, 20, requests), LATENCY),
      goals: [atMost(FIRST_DELTA, 'added', 1)],
    })),
    {
      name: `${kind.name}, flat out, 32 at once`,
      sides,
      load: loadsOf(kind, flatOut(1), THROUGHPUT),
      goals: [atLeast(DELTAS_PER_SECOND, 'ratio', 0.6)],
    },
  ];
}

/** An answer of 50 words, which the upstream has at once and whole. */
function gatewayRow(name: string, store: boolean, most: number) {
  const body = toBody(toModel({ deltas: 50, burst: 50 }), null, { store });
  return { name, load: json(body), goals: [atMost(CPU_PER_REQUEST, 'service', most)] };
}

/** Starts the service with workers, which share a database. */
const workers = (WORKERS: string) =>
  before(CHAT.provider, async (bench) => ({ ...(await bench.state('postgres')), WORKERS }));

/** The cost of the service between a client and its upstream. */
export const UPSTREAMS: readonly Case[] = [
  {
    name: 'relay',
    table: 'relays',
    shows: [DELAY, CPU_PER_DELTA],
    prepare: warmUp(CHAT, 10),
    rounds: 'few',
    warmUps: 0,
    rows: (sizes) => relayRows(CHAT, sizes),
  },
  {
    name: 'responses-relay',
    table: 'relays',
    shows: [DELAY, CPU_PER_DELTA],
    prepare: warmUp(SSE, 10),
    rounds: 'few',
    warmUps: 0,
    rows: (sizes) => [SSE, SOCKETS].flatMap((kind) => relayRows(kind, sizes)),
  },
  {
    name: 'paced',
    table: 'paced',
    sides: sidesOf(CHAT),
    // V8 compiles what a turn runs for some thousand turns.
    prepare: warmUp(CHAT, 100),
    rounds: 'few',
    warmUps: 1,
    rows: ({ mostStreams, requests }) =>
      [1, 32, 128, 512]
        .filter((streams) => streams <= mostStreams)
        .map((streams) => ({
          name: `paced, ${streams} at once`,
          load: loadsOf(CHAT, atModelSpeed(streams, Math.max(streams, Math.min(requests, 10 * streams))), LATENCY),
          goals: [atMost(CPU_PER_DELTA, 'ratio', 1.25), atMost(FIRST_DELTA, 'difference', 0.4)],
        })),
  },
  {
    name: 'workers',
    table: 'paced',
    shows: [DELTAS_PER_SECOND, FIRST_DELTA, FIRST_DELTA_P99],
    sides: { direct: upstream, service: workers('2'), floor: workers('1') },
    // Twice what one process needs, because two share them.
    prepare: warmUp(CHAT, 200),
    rounds: 'few',
    warmUps: 1,
    // CPU would be that of the first process only.
    rows: ({ mostStreams }) => {
      const streams = Math.min(128, mostStreams);
      const delays = { direct: toDelays, service: toDelays, floor: toDelays };
      const throughput = { service: toThroughput, floor: toThroughput };
      return [
        { name: 'workers, 2 ÷ 1, 32 at once', load: loadsOf(CHAT, flatOut(10), throughput) },
        { name: `workers, 2 ÷ 1, ${streams} paced`, load: loadsOf(CHAT, atModelSpeed(streams, 2 * streams), delays) },
      ];
    },
  },
  {
    name: 'gateway-json',
    table: 'words',
    shows: [REQUESTS_PER_SECOND],
    sides: { service: before(CHAT.provider), floor: relay('chat') },
    rows: () => [gatewayRow('gateway-json, stored', true, 500), gatewayRow('gateway-json, store: false', false, 350)],
  },
];
