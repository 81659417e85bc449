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
    const job = {
      body,
      streams: count,
      turnsPerStream: each,
      sockets: count,
      turnsPerSocket: each,
      isConcurrent: true,
    };
    const { turns, events, bytes, seconds, cpu } =
      transport === 'sse'
        ? await bench.measure(server, 'sse', { url: server.url, ...job })
        : await bench.measure(server, 'socket', { url: server.socketUrl, ...job });
    const expected = turns * (traffic.deltas + FRAMING_EVENTS);
    if (events !== expected) throw new Error(`${events} events came in ${turns} turns, not ${expected}`);
    return {
      [CPU_PER_EVENT]: cpu / events,
      [EVENTS_PER_SECOND]: events / seconds,
      'turns per second': turns / seconds,
      // Below one, the load generator or the machine limits the throughput.
      'server cores in use': cpu / 1e6 / seconds,
      'bytes per event': bytes / events,
    };
  };
}

/** Requests that are not streamed, 32 at once. */
export function json(body: string): Load {
  return async (server, bench) => {
    const { jsonRequests: requests } = bench.sizes;
    const job = { url: server.url, body, concurrency: 32, requests };
    const { bytes, seconds, cpu } = await bench.measure(server, 'json', job);
    return {
      [REQUESTS_PER_SECOND]: requests / seconds,
      [CPU_PER_REQUEST]: cpu / requests,
      'server cores in use': cpu / 1e6 / seconds,
      'bytes per answer': bytes / requests,
    };
  };
}

const SERVICE = service();

const PROMISES = 'promises per turn';
const KILOBYTES = 'kB allocated per turn';

/** Counts, which hardly depend on the machine, of turns one after the other. */
function count(transport: 'json' | 'sse' | 'ws'): Load {
  return async (server, { load, sizes: { countedTurns: turns } }) => {
    const body = toBody('bench', SHORT, transport === 'json' ? {} : { stream: true });
    const run = {
      json: () => load.run('json', { url: server.url, body, concurrency: 1, requests: turns }),
      sse: () => load.run('sse', { url: server.url, body, streams: 1, turnsPerStream: turns }),
      ws: () => load.run('socket', { url: server.socketUrl, body, sockets: 1, turnsPerSocket: turns }),
    }[transport];
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

const cpuPerEvent = (ratio: number, honestRatio: number) => [
  atMost(CPU_PER_EVENT, 'ratio', ratio),
  atMost(CPU_PER_EVENT, 'honest ratio', honestRatio),
];

const ofService = (promises: number, kilobytes: number) => [
  atMost(PROMISES, 'service', promises),
  atMost(KILOBYTES, 'service', kilobytes),
];

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
    sides: { service: service(), floor: floor('sse'), honest },
    rows: () => [
      { name: 'sse, single', load: streams('sse', { burst: 1 }), goals: cpuPerEvent(1.3, 1.3) },
      { name: 'sse, burst', load: streams('sse', { burst: 8 }), goals: cpuPerEvent(1.5, 1.3) },
    ],
  },
  {
    name: 'ws',
    table: 'streams',
    shows: [EVENTS_PER_SECOND],
    sides: { service: service(), floor: floor('ws'), honest },
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
        load: json(toBody('bench', SHORT)),
        goals: [atLeast(REQUESTS_PER_SECOND, 'ratio', 0.4), atMost(CPU_PER_REQUEST, 'honest ratio', 1.8)],
      },
      {
        name: 'json ÷ Nest with its ValidationPipe',
        sides: { service: SERVICE, floor: (bench) => bench.start('servers/nest.js', { FLOOR: 'json' }) },
        load: json(toBody('bench', SHORT)),
        goals: [atLeast(REQUESTS_PER_SECOND, 'ratio', 1)],
      },
    ],
  },
  {
    name: 'turn-cost',
    table: 'turn-cost',
    shows: [KILOBYTES],
    rounds: ({ longRounds, warmUps }) => ({ rounds: longRounds, warmUps }),
    rows: () =>
      (
        [
          ['json', ofService(32, 52)],
          ['sse', ofService(34, 62)],
          ['ws', ofService(44, 62)],
        ] as const
      ).map(([transport, goals]) => ({
        name: `turn-cost, ${transport}`,
        sides: { ...COUNTED, floor: counted('servers/floors.ts', { FLOOR: transport }) },
        load: count(transport),
        goals,
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
    sides: { service: built(SIMULATOR), floor: service() },
    rows: () => [simulatorRow('simulator-json, stored', true), simulatorRow('simulator-json, store: false', false)],
  },
];
