import { setTimeout } from 'node:timers/promises';

import type { Case, Load } from '../harness/case.ts';
import { toBody } from '../traffic.ts';
import { atMost, built, DIST, floor, honest, SHORT } from './programs.ts';

const START = 'start to first answer, ms';
const START_MEMORY = 'memory after it, MB';

function firstAnswer(path: string, body?: string): Load {
  return async (server) => {
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const answer = await fetch(server.origin + path, body === undefined ? {} : post);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}: ${text}`);
    const time = performance.now() - server.startedAt;
    return { [START]: time, [START_MEMORY]: (await server.residentBytes()) / 1e6 };
  };
}

const list = firstAnswer('/v1/models');

/** Answered by the default simulator. Loads and compiles more than a list does. */
const turn = firstAnswer('/v1/responses', JSON.stringify({ model: 'gpt-4.1', input: 'Tell me about the harbor.' }));

/** Sockets before those that are measured, until the server has loaded and compiled what they share. */
const FIRST = 50;

const PER_SOCKET = 'memory per socket, kB';
const PER_THOUSAND = 'memory per 1,000 sockets, MB';

/** Memory of sockets that are only open. */
const openSockets: Load = async (server, { load, sizes: { idleSockets: count } }) => {
  const measure = async (sockets: number) => {
    await load.run('socket', { url: server.socketUrl, body: '', sockets, turnsPerSocket: 0 });
    return await server.report('memory');
  };
  const [before, after] = [await measure(FIRST), await measure(FIRST + count)];
  return {
    [PER_SOCKET]: (after.rssBytes - before.rssBytes) / count / 1000,
    'of it JavaScript’s, kB': (after.heapBytes - before.heapBytes) / count / 1000,
  };
};

/** Memory of sockets that have each had one turn, with the responses that the service keeps. */
const usedSockets: Load = async (server, bench) => {
  const { idleSockets: count } = bench.sizes;
  const body = toBody('gpt-4.1', SHORT, { stream: true });
  const measure = async (sockets: number, turnsPerSocket: number): Promise<number> => {
    await bench.load.run('socket', { url: server.socketUrl, body, sockets, turnsPerSocket });
    // Collects garbage, so that what is left belongs to sockets.
    await server.report('memory');
    return await server.residentBytes();
  };
  const [before, after] = [await measure(FIRST, bench.times(20)), await measure(FIRST + count, 1)];
  return { [PER_THOUSAND]: (after - before) / count / 1000 };
};

const AFTER_LOAD = 'memory after the load, MB';
const AFTER_REST = 'memory after a rest, MB';

/** Memory after many turns, as the system sees it, without a forced garbage collection. */
const useMemory: Load = async (server, { load, sizes: { memoryTurns: turns, restSeconds } }) => {
  const body = toBody('gpt-4.1', { deltas: 50, burst: 50 });
  await load.run('json', { url: server.url, body, concurrency: 32, turns });
  const afterLoad = await server.residentBytes();
  await setTimeout(restSeconds * 1000);
  return { [AFTER_LOAD]: afterLoad / 1e6, [AFTER_REST]: (await server.residentBytes()) / 1e6 };
};

/** What one process costs, and what it stands. */
export const PROCESS: readonly Case[] = [
  {
    name: 'idle-sockets',
    table: 'process',
    sides: { service: built(), floor: floor('ws') },
    isAnew: true,
    rounds: 'few',
    warmUps: 0,
    rows: ({ idleSockets }) => [
      {
        name: `idle-sockets, ${idleSockets} open`,
        load: openSockets,
        goals: [atMost(PER_SOCKET, 'ratio', 1.5)],
      },
      {
        name: `idle-sockets, ${idleSockets} after a turn each`,
        load: usedSockets,
        goals: [atMost(PER_THOUSAND, 'service', 30)],
      },
    ],
  },
  {
    name: 'cold-start',
    table: 'process',
    sides: {
      service: (bench) => bench.start(DIST, {}, 'bare'),
      floor: (bench) => bench.start('servers/nest.js', {}, 'bare'),
    },
    isAnew: true,
    rounds: 'few',
    // The first start may read files from disk.
    warmUps: 1,
    rows: () => [
      {
        name: 'cold-start ÷ empty Nest',
        load: list,
        goals: [atMost(START, 'ratio', 2), atMost(START_MEMORY, 'difference', 70)],
      },
      {
        name: 'cold-start, first turn',
        load: { service: turn, floor: list },
        goals: [atMost(START, 'service', 700), atMost(START_MEMORY, 'service', 140)],
      },
    ],
  },
  {
    name: 'memory',
    table: 'memory',
    sides: { service: async (bench) => built(await bench.state('sqlite'))(bench), floor: honest },
    isAnew: true,
    rounds: 1,
    warmUps: 0,
    rows: ({ memoryTurns }) => [
      {
        name: `memory, ${memoryTurns} turns`,
        load: useMemory,
        goals: [atMost(AFTER_LOAD, 'service', 250), atMost(AFTER_REST, 'service', 250)],
      },
    ],
  },
];
