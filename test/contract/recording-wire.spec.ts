// Slow: runs each of 320 turns on two services, over three transports.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Clock, type ModelEvent } from '../../src/index.js';
import { type Script, ScriptedProvider } from '../../src/testing/index.js';
import { withoutIds } from '../support/normalise.js';
import { RecordedSession } from '../support/recorded-session.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { WatchedClock } from '../support/clocks.js';
import { FALSE_STARTS, NONSENSE } from './misbehaviours.js';
import type { ParityTurn } from './parity-turn.js';
import { RECORDED_REFUSALS, RECORDED_TURNS } from './recorded-turns.js';

const text: ModelEvent = { type: 'text', delta: 'before' };
const finish: ModelEvent = { type: 'finish', reason: 'stop' };

/** A turn of nonsense in the middle, in a batch with words around it. */
const nonsenseIn = (what: string, nonsense: unknown, place: 'alone' | 'with words' | 'at the end'): ParityTurn => ({
  name: `${what}, ${place}`,
  async *model() {
    yield [text];
    const batch = (Array.isArray(nonsense) ? nonsense : [nonsense]) as readonly ModelEvent[];
    if (place === 'alone') yield nonsense as ModelEvent;
    else if (place === 'with words') yield [text, ...batch, text];
    else yield [...batch, finish];
    yield [finish];
  },
  expected: {},
});

const throwing = (error: unknown): Script =>
  async function* () {
    yield* [];
    throw error;
  };

const TURNS: readonly ParityTurn[] = [
  ...RECORDED_TURNS,
  ...RECORDED_REFUSALS.map(([name, error]) => ({ name: `refused with ${name}`, model: throwing(error), expected: {} })),
  ...FALSE_STARTS.map(([name, generate]) => ({
    name: `a model that ${name}`,
    model: generate as Script,
    expected: {},
  })),
  ...NONSENSE.flatMap(([what, nonsense]) =>
    (['alone', 'with words', 'at the end'] as const).map((place) => nonsenseIn(what, nonsense, place)),
  ),
];

/** A service whose time stands still. */
interface FixedService {
  readonly service: Service;
  readonly clock: WatchedClock;
}

async function startFixed(environment: Readonly<Record<string, unknown>>): Promise<FixedService> {
  const clock = new WatchedClock();
  return {
    clock,
    service: await startService({ providers: [ScriptedProvider], overrides: [[Clock, clock]], environment }),
  };
}

describe('a turn that is recorded', () => {
  let session: RecordedSession;
  let plain: FixedService;
  let recording: FixedService;

  beforeAll(async () => {
    session = await RecordedSession.begin();
    plain = await startFixed({});
    recording = await startFixed({ RECORD_FILE: session.path });
  });

  afterAll(async () => {
    for (const { clock, service } of [plain, recording]) {
      clock.letGo();
      await service.close();
    }
    await session[Symbol.asyncDispose]();
  });

  /** Everything that a client sees of a turn over HTTP. */
  const overHttp = async (
    { service }: FixedService,
    { model, body }: ParityTurn,
    stream: boolean,
  ): Promise<unknown> => {
    play(service, model);
    const answer = await fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'scripted', input: 'Hi', ...body, ...(stream ? STREAM : {}) }),
    });
    const { date: _date, 'openai-processing-ms': _took, ...headers } = Object.fromEntries(answer.headers);
    return withoutIds([answer.status, headers, await answer.text()]);
  };

  /** The frames of a turn on a socket. */
  const overSocket = async ({ service }: FixedService, { model, body }: ParityTurn): Promise<unknown> => {
    play(service, model);
    await using client = await SocketClient.open(service);
    client.create({ input: 'Hi', ...body });
    const frames = [];
    do frames.push(await client.next());
    while (!/^(?:error|response\.(?:completed|failed|incomplete))$/.test(frames.at(-1)?.type ?? ''));
    return withoutIds(frames);
  };

  it.each(TURNS)('a turn that is recorded looks as if it were not: $name', async (turn) => {
    for (const stream of [false, true]) {
      expect(await overHttp(recording, turn, stream)).toEqual(await overHttp(plain, turn, stream));
    }
    expect(await overSocket(recording, turn)).toEqual(await overSocket(plain, turn));
  });
});

const STREAM = { stream: true, stream_options: { include_obfuscation: false } };

function play(service: Service, model: ParityTurn['model']): void {
  const provider = service.app.get(ScriptedProvider);
  if (typeof model === 'function') provider.play(model);
  else provider.reply(...model);
}
