import { type ChildProcess, fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { SocketClient } from '../support/socket-client.js';

const BENCH = new URL('../../bench/', import.meta.url);

/** What counts, loaded before the service; the service knows nothing of it. */
const PRELOAD = new URL('harness/inside.ts', BENCH).href;

/** Neither the variables of the test run nor a developer's `.env` may reach it, and nothing that a clock begins counts. */
const ENVIRONMENT = {
  PATH: process.env.PATH,
  PORT: '0',
  HOST: '127.0.0.1',
  STATE: 'memory',
  LOG_LEVEL: 'error',
  MODEL_ACCEPT_TIMEOUT_MS: '86400000',
  PURGE_INTERVAL_MS: '86400000',
  WS_PING_INTERVAL_MS: '86400000',
};

/** The built service with a model that costs nothing, in a process of its own, the promises of which can be counted. */
class CountedService implements AsyncDisposable {
  private constructor(
    private readonly child: ChildProcess,
    /** Where it listens, without a slash at the end. */
    readonly origin: string,
  ) {}

  static async start(): Promise<CountedService> {
    const child = fork(fileURLToPath(new URL('servers/service.ts', BENCH)), {
      cwd: tmpdir(),
      env: ENVIRONMENT,
      execArgv: ['--import', PRELOAD],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    return new CountedService(child, await readOrigin(child));
  }

  /** How many promises it makes while something runs, with what that leaves for the next turns of its event loop. */
  async countPromises(run: () => Promise<unknown>): Promise<number> {
    const question = { type: 'count', what: 'promises' };
    await this.ask({ ...question, step: 'begin' });
    await run();
    const { count } = await this.ask({ ...question, step: 'end' });
    return count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  private async ask(question: Serializable): Promise<{ readonly count: number }> {
    const answer = once(this.child, 'message');
    this.child.send(question);
    const [message] = (await answer) as [{ readonly count: number }];
    return message;
  }
}

async function readOrigin({ stdout }: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of stdout ?? []) {
    text += String(chunk);
    const origin = /listens on (\S+)\n/.exec(text)?.[1];
    if (origin !== undefined) return origin;
  }
  throw new Error(`the service ended before it listened: ${text}`);
}

/** Turns before those that count: the first ones load and keep what all others share. */
const WARM_UP = 10;

const TURNS = 50;

/** A short turn: stored, without a parent, eight deltas in one turn of the event loop. */
const REQUEST = {
  model: 'bench',
  input: 'Tell me about the harbor.',
  metadata: { deltas: '8', burst: '8' },
};

/** Makes one turn, to its last event. */
type MakeTurn = () => Promise<void>;

describe('the promises of a turn', () => {
  let service: CountedService;
  let socket: SocketClient;

  beforeAll(async () => {
    service = await CountedService.start();
    socket = await SocketClient.open({ port: Number(new URL(service.origin).port) }, { perMessageDeflate: false });
  });

  afterAll(async () => {
    await socket[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  });

  /** The response's events, or the Response itself. */
  async function post(members: object): Promise<string> {
    const answer = await fetch(`${service.origin}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...REQUEST, ...members }),
    });
    expect(answer.status).toBe(200);
    return answer.text();
  }

  const turns: Readonly<Record<string, MakeTurn>> = {
    JSON: async () => {
      expect(JSON.parse(await post({}))).toMatchObject({ status: 'completed' });
    },
    SSE: async () => {
      expect(await post({ stream: true })).toMatch(/event: response\.completed\n.*\n\ndata: \[DONE\]\n\n$/);
    },
    WebSocket: async () => {
      expect(await socket.turn(REQUEST)).toMatchObject({ response: { status: 'completed' } });
    },
  };

  it.each([
    ['JSON', 32],
    ['SSE', 34],
    ['WebSocket', 44],
  ])('the promises of a turn over %s are at most %i, and as many in each', async (transport, most) => {
    const makeTurn = turns[transport] as MakeTurn;
    for (let turn = 0; turn < WARM_UP; turn++) await makeTurn();
    const counts: number[] = [];
    for (let turn = 0; turn < TURNS; turn++) counts.push(await service.countPromises(makeTurn));
    expect(counts).toEqual(counts.map(() => counts[0]));
    expect(counts[0]).toBeLessThanOrEqual(most);
  });
});
