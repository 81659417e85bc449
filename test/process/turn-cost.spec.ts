import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { CountedService } from '../support/counted-service.js';
import { SocketClient } from '../support/socket-client.js';

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
