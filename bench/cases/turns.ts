import type { Start } from '../harness/bench.ts';
import type { Case, Load } from '../harness/case.ts';
import type { Variables } from '../harness/processes.ts';
import { DELTA, FRAMING_EVENTS, toBody, type Traffic } from '../traffic.ts';
import {
  atLeast,
  atMost,
  built,
  CPU_PER_EVENT,
  CPU_PER_REQUEST,
  EVENTS_PER_SECOND,
  floor,
  honest,
  json,
  REQUESTS_PER_SECOND,
  service,
  SHORT,
} from './programs.ts';

/** Streams of one round. */
interface Shape extends Partial<Traffic> {
  readonly burst: number;
  readonly model?: string;
  /** Factor on the turns of a round, for answers so short that a round would not be long enough to measure. */
  readonly more?: number;
}

/** Concurrent streams. Throws an Error if the number of events is wrong. */
function streams(transport: 'sse' | 'ws', { burst, deltas, model = 'bench', more = 1 }: Shape): Load {
  return async (server, bench) => {
    const traffic = { deltas: deltas ?? bench.sizes.deltas, burst };
    const body = toBody(model, traffic, { stream: true });
    const [count, each] = [bench.sizes.streams, bench.sizes.turnsPerStream * bench.times(more)];
    const sockets = { url: server.socketUrl, body, sockets: count, turnsPerSocket: each, isConcurrent: true };
    const { turns, events, bytes, seconds, cpu } = await (transport === 'ws'
      ? bench.measure(server, 'socket', sockets)
      : bench.measure(server, 'sse', { url: server.url, body, concurrency: count, turns: count * each }));
    const expected = turns * (traffic.deltas + FRAMING_EVENTS);
    if (events !== expected) throw new Error(`${events} events came in ${turns} turns, not ${expected}`);
    return {
      [CPU_PER_EVENT]: cpu / events,
      [EVENTS_PER_SECOND]: events / seconds,
      // Below one, the load generator or the machine limits the throughput.
      'server cores in use': cpu / 1e6 / seconds,
      'bytes per event': bytes / events,
    };
  };
}

const PROMISES = 'promises per turn';
const KILOBYTES = 'kB allocated per turn';

/** Counts, which hardly depend on the machine, of turns one after the other. */
function count(transport: 'json' | 'sse' | 'ws'): Load {
  return async (server, { load, sizes: { countedTurns: turns } }) => {
    const body = toBody('bench', SHORT, transport === 'json' ? {} : { stream: true });
    const run = () =>
      transport === 'ws'
        ? load.run('socket', { url: server.socketUrl, body, sockets: 1, turnsPerSocket: turns })
        : load.run(transport, { url: server.url, body, concurrency: 1, turns });
    const promises = await server.count('promises', run);
    const bytes = await server.count('bytes', run);
    return { [PROMISES]: promises / turns, [KILOBYTES]: bytes / 1000 / turns };
  };
}

/** Starts a program whose memory is not freed while bytes are counted; in a proof, which counts a few turns, any is one. */
function counted(module: string, variables?: Variables): Start {
  return (bench) => bench.start(module, variables, bench.isProof ? 'measured' : 'counted');
}

const COUNTED = { service: counted('servers/service.ts'), honest: counted('servers/honest.ts') };

const COUNTED_ROWS = [
  { transport: 'json', promises: 32, kilobytes: 52 },
  { transport: 'sse', promises: 34, kilobytes: 62 },
  { transport: 'ws', promises: 44, kilobytes: 62 },
] as const;

const cpuPerEvent = (ratio: number, honestRatio: number) => [
  atMost(CPU_PER_EVENT, 'ratio', ratio),
  atMost(CPU_PER_EVENT, 'honest ratio', honestRatio),
];

const SERVICE = service();
const SHORT_JSON = json(toBody('bench', SHORT));

/** A text of 50 words at once, as the instant simulator writes it; a model that costs nothing writes one of the same length. */
const WORDS = { deltas: 50, burst: 50 };
const SIMULATOR = { SIMULATOR_GENERATOR: 'fixed', SIMULATOR_TEXT: DELTA.repeat(WORDS.deltas).trim() };

/** Both answer with the same words, stored or not. */
function simulatorRow(name: string, store: boolean) {
  const load = { service: json(toBody('gpt-4.1', WORDS, { store })), floor: json(toBody('bench', WORDS, { store })) };
  return { name, load, goals: [atMost(CPU_PER_REQUEST, 'difference', 120)] };
}

/** What a turn costs that is short or streams, with a model that costs nothing. */
export const TURNS: readonly Case[] = [
  {
    name: 'sse',
    table: 'streams',
    shows: [EVENTS_PER_SECOND],
    sides: { service: SERVICE, floor: floor('sse'), honest },
    rows: () => [
      { name: 'sse, single', load: streams('sse', { burst: 1 }), goals: cpuPerEvent(1.3, 1.3) },
      { name: 'sse, burst', load: streams('sse', { burst: 8 }), goals: cpuPerEvent(1.5, 1.3) },
    ],
  },
  {
    name: 'ws',
    table: 'streams',
    shows: [EVENTS_PER_SECOND],
    sides: { service: SERVICE, floor: floor('ws'), honest },
    rows: () => [
      { name: 'ws, single', load: streams('ws', { burst: 1 }), goals: cpuPerEvent(1.6, 1.4) },
      { name: 'ws, burst', load: streams('ws', { burst: 8 }), goals: cpuPerEvent(1.3, 1.4) },
      { name: 'ws, short turn', load: streams('ws', { ...SHORT, more: 4 }), goals: cpuPerEvent(2, 1.8) },
    ],
  },
  {
    name: 'json',
    table: 'requests',
    sides: { service: SERVICE, floor: floor('json'), honest },
    rows: () => [
      {
        name: 'json ÷ node:http',
        load: SHORT_JSON,
        goals: [atLeast(REQUESTS_PER_SECOND, 'ratio', 0.4), atMost(CPU_PER_REQUEST, 'honest ratio', 1.8)],
      },
      {
        name: 'json ÷ Nest with its ValidationPipe',
        sides: { service: SERVICE, floor: (bench) => bench.start('servers/nest.js', { FLOOR: 'json' }) },
        load: SHORT_JSON,
        goals: [atLeast(REQUESTS_PER_SECOND, 'ratio', 1)],
      },
    ],
  },
  {
    name: 'turn-cost',
    table: 'turn-cost',
    shows: [KILOBYTES],
    rounds: 'few',
    rows: () =>
      COUNTED_ROWS.map(({ transport, promises, kilobytes }) => ({
        name: `turn-cost, ${transport}`,
        sides: { ...COUNTED, floor: counted('servers/floors.ts', { FLOOR: transport }) },
        load: count(transport),
        goals: [atMost(PROMISES, 'service', promises), atMost(KILOBYTES, 'service', kilobytes)],
      })),
  },
  {
    name: 'simulator',
    table: 'streams',
    shows: [CPU_PER_EVENT, EVENTS_PER_SECOND],
    // Without a variable of its own, it would introduce itself in its first answer.
    sides: { service: built({ SIMULATOR_GENERATOR: 'random' }), floor: floor('sse') },
    rows: () => [{ name: 'simulator', load: streams('sse', { deltas: 29, burst: 64, model: 'gpt-4.1', more: 4 }) }],
  },
  {
    name: 'simulator-json',
    table: 'words',
    shows: [REQUESTS_PER_SECOND],
    sides: { service: built(SIMULATOR), floor: SERVICE },
    rows: () => [simulatorRow('simulator-json, stored', true), simulatorRow('simulator-json, store: false', false)],
  },
];
