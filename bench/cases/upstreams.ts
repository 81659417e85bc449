import type { Bench } from '../harness/bench.ts';
import type { Case, Load } from '../harness/case.ts';
import type { Sample, Side } from '../harness/measure.ts';
import type { Server } from '../harness/processes.ts';
import type { TimedOutcome } from '../load/timed.ts';
import type { RelayName } from '../servers/relays.ts';
import type { Sizes } from '../sizes.ts';
import { FRAMING_EVENTS, toBody, toChatBody, toModel, type Traffic } from '../traffic.ts';
import {
  atLeast,
  atMost,
  before,
  CPU_PER_REQUEST,
  CPU_PER_TURN,
  longRounds,
  relay,
  REQUESTS_PER_SECOND,
  upstream,
} from './programs.ts';
import { json } from './turns.ts';

const FIRST_DELTA = 'time to first delta, p50, ms';
const FIRST_DELTA_P99 = 'time to first delta, p99, ms';
const DELAY = 'delay of a delta, p50, ms';
const DELTAS_PER_SECOND = 'deltas per second';
const CPU_PER_DELTA = 'server CPU per delta, µs';

/** An upstream, as the service and the relay reach it. */
interface Kind {
  readonly name: string;
  /** Settings of the service's provider. */
  readonly provider: object;
  readonly relay: RelayName;
}

/** Connections to an upstream: more than streams, as in the relay. */
const CONNECTIONS = 4096;

const CHAT: Kind = { name: 'relay', provider: { connections: CONNECTIONS }, relay: 'chat' };

/** An upstream with the Responses API over SSE, and over WebSocket. */
const RESPONSES: readonly [sse: Kind, sockets: Kind] = [
  {
    name: 'responses over SSE',
    provider: { kind: 'responses', connections: CONNECTIONS },
    relay: 'responses',
  },
  {
    name: 'responses over WebSocket',
    provider: { kind: 'responses', supports_websockets: true, websocket_connections: CONNECTIONS },
    relay: 'sockets',
  },
];

/** The service and the relay before an upstream, and the upstream itself. */
function sidesOf(kind: Kind) {
  return { direct: upstream, service: before(kind.provider), floor: relay(kind.relay) };
}

/** Streams of one round. */
interface Relayed {
  readonly traffic: Traffic;
  readonly streams: number;
  /** Measured turns. */
  readonly turns: number;
  /** Time over which the start of streams is spread, ms. */
  readonly spreadMs: number;
}

/** Streams from one side. Throws an Error if a frame is missing. */
async function stream(kind: Kind, side: Side, relayed: Relayed, server: Server, bench: Bench) {
  const { traffic, ...job } = relayed;
  const isChat = side === 'direct' && kind === CHAT;
  const model = toModel(traffic);
  // All turns belong to one conversation, so that they find open sockets: the relay gives them any.
  const conversation = kind === CHAT ? {} : { prompt_cache_key: 'bench' };
  const body = isChat ? toChatBody(model, true) : toBody(model, null, { stream: true, ...conversation });
  const url = isChat ? `${server.origin}/v1/chat/completions` : server.url;
  const outcome = await bench.measure(server, 'timed', { url, body, deltas: traffic.deltas, ...job });
  const expected = outcome.turns * (traffic.deltas + (isChat ? 4 : FRAMING_EVENTS + 1));
  if (outcome.frames === expected) return outcome;
  throw new Error(`${outcome.frames} frames came in ${outcome.turns} turns, not ${expected}`);
}

type Cost = TimedOutcome & { readonly cpu: number };

/** A load for each side. The upstream has times only. */
function loadsOf(
  kind: Kind,
  toRelayed: (sizes: Sizes) => Relayed,
  toTimes: (cost: Cost, deltas: number) => Sample,
  toCosts: (cost: Cost, deltas: number) => Sample = () => ({}),
): Readonly<Partial<Record<Side, Load>>> {
  const loadOf =
    (side: Side): Load =>
    async (server, bench) => {
      const relayed = toRelayed(bench.sizes);
      const cost = await stream(kind, side, relayed, server, bench);
      const { deltas } = relayed.traffic;
      return { ...toTimes(cost, deltas), ...(side === 'direct' ? {} : toCosts(cost, deltas)) };
    };
  return { direct: loadOf('direct'), service: loadOf('service'), floor: loadOf('floor') };
}

/** Latency, which is only meaningful while no process is saturated. */
const toDelays = ({ firstDelta, delay }: Cost): Sample => ({
  [FIRST_DELTA]: firstDelta.p50,
  [FIRST_DELTA_P99]: firstDelta.p99,
  [DELAY]: delay.p50,
  'delay of a delta, p99, ms': delay.p99,
});

const toDelayCosts = ({ turns, seconds, cpu }: Cost, deltas: number): Sample => ({
  [CPU_PER_TURN]: cpu / turns,
  [CPU_PER_DELTA]: cpu / (turns * deltas),
  'server cores in use': cpu / 1e6 / seconds,
});

const toDurations = ({ whole }: Cost, deltas: number): Sample => ({
  'time per delta of a stream, p50, µs': (whole.p50 * 1000) / deltas,
  'time per delta of a stream, p99, µs': (whole.p99 * 1000) / deltas,
});

const toThroughput = ({ turns, seconds }: Cost, deltas: number): Sample => ({
  [DELTAS_PER_SECOND]: (turns * deltas) / seconds,
});

const toThroughputCosts = (cost: Cost, deltas: number): Sample => ({
  ...toThroughput(cost, deltas),
  [CPU_PER_DELTA]: cost.cpu / (cost.turns * deltas),
  // Below one, the upstream, the load generator or the machine limits the throughput.
  'server cores in use': cost.cpu / 1e6 / cost.seconds,
  'bytes per event': cost.bytes / cost.frames,
});

/** Short answers at full speed, until V8 has compiled what a turn runs: so many turns for each request of a round. */
function warmUp(kind: Kind, turns: number): NonNullable<Case['prepare']> {
  return (server, bench, side) => {
    const traffic = { deltas: 10, burst: 1 };
    const relayed = { traffic, streams: 32, turns: bench.times(turns) * bench.sizes.requests, spreadMs: 0 };
    return stream(kind, side, relayed, server, bench);
  };
}

function flatOut(streams: number, more = 1): (sizes: Sizes) => Relayed {
  return ({ deltas, requests }) => {
    return { traffic: { deltas, burst: 1 }, streams, turns: Math.max(more * requests, streams), spreadMs: 0 };
  };
}

/** Starts are spread over one answer, so that requests and deltas do not coincide. */
function paced(streams: number, pauseMs: number, most: number, turns: number) {
  return (sizes: Sizes): Relayed => {
    const deltas = Math.min(most, sizes.deltas);
    return { traffic: { deltas, burst: 1, pauseMs }, streams, turns, spreadMs: deltas * pauseMs };
  };
}

/** Streams with a delta each 10 ms: about the speed of a fast model; long enough that deltas outweigh the beginning of a turn. */
function atModelSpeed(streams: number, turns: number) {
  return paced(streams, 10, 64, turns);
}

/** Short answers, by number of streams: more streams are slower, so that no process is saturated. */
const PACES = [
  { streams: 1, deltas: 4, pauseMs: 1 },
  { streams: 32, deltas: 20, pauseMs: 10 },
  { streams: 256, deltas: 20, pauseMs: 80 },
];

/** Latency while a model writes at its own pace, and throughput at full speed. */
function relayRows(kind: Kind, sizes: Sizes) {
  const sides = sidesOf(kind);
  const paces = PACES.filter(({ streams }) => streams <= sizes.mostStreams);
  return [
    ...paces.map(({ streams, deltas, pauseMs }) => ({
      name: `${kind.name}, paced, ${streams} at once`,
      sides,
      load: loadsOf(kind, paced(streams, pauseMs, deltas, sizes.requests), toDelays, toDelayCosts),
      goals: [atMost(FIRST_DELTA, 'added', 1)],
    })),
    ...paces.map(({ streams }) => ({
      name: `${kind.name}, flat out, ${streams} at once`,
      sides,
      load: loadsOf(kind, flatOut(streams), toDurations, toThroughputCosts),
      goals: [atLeast(DELTAS_PER_SECOND, 'ratio', 0.6)],
    })),
  ];
}

/** An answer of 50 words, which the upstream has at once and whole. */
function gatewayRow(name: string, store: boolean, most: number) {
  const body = toBody(toModel({ deltas: 50, burst: 50 }), null, { store });
  return { name, load: json(body), goals: [atMost(CPU_PER_REQUEST, 'service', most)] };
}

const noWarmUps = ({ longRounds: rounds }: Sizes) => ({ rounds, warmUps: 0 });

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
    rounds: noWarmUps,
    rows: (sizes) => relayRows(CHAT, sizes),
  },
  {
    name: 'responses-relay',
    table: 'relays',
    shows: [DELAY, CPU_PER_DELTA],
    prepare: warmUp(RESPONSES[0], 10),
    rounds: noWarmUps,
    rows: (sizes) => RESPONSES.flatMap((kind) => relayRows(kind, sizes)),
  },
  {
    name: 'paced',
    table: 'paced',
    sides: sidesOf(CHAT),
    // V8 compiles what a turn runs for some thousand turns.
    prepare: warmUp(CHAT, 100),
    rounds: longRounds,
    rows: (sizes) =>
      [1, 32, 128, 512]
        .filter((one) => one <= sizes.pacedStreams)
        .map((streams) => {
          const turns = Math.max(streams, Math.min(sizes.requests, 10 * streams));
          return {
            name: `paced, ${streams} at once`,
            load: loadsOf(CHAT, atModelSpeed(streams, turns), toDelays, toDelayCosts),
            goals: [atMost(CPU_PER_DELTA, 'ratio', 1.25), atMost(FIRST_DELTA, 'difference', 0.4)],
          };
        }),
  },
  {
    name: 'workers',
    table: 'paced',
    shows: [DELTAS_PER_SECOND, FIRST_DELTA, FIRST_DELTA_P99],
    sides: { direct: upstream, service: workers('2'), floor: workers('1') },
    // Twice what one process needs, because two share them.
    prepare: warmUp(CHAT, 200),
    rounds: longRounds,
    // CPU would be that of the first process only.
    rows: ({ pacedStreams }) => {
      const streams = Math.min(128, pacedStreams);
      return [
        { name: 'workers, 2 ÷ 1, 32 at once', load: loadsOf(CHAT, flatOut(32, 10), toDurations, toThroughput) },
        {
          name: `workers, 2 ÷ 1, ${streams} paced`,
          load: loadsOf(CHAT, atModelSpeed(streams, 2 * streams), toDelays),
        },
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
