import { describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { WatchedClock } from '../support/clocks.js';

const MODEL = 'gpt-4.1';
/** Five tokens. */
const WORDS = 'Hello there, dear friend';

describe('a client that leaves while a model is slow', () => {
  it.each(['json', 'sse', 'ws'])(
    'a client that leaves while a model is slow ends the turn at once: %s',
    async (transport) => {
      const observer = new RecordingObserver();
      const clock = new WatchedClock();
      const service = await startService({
        environment: { SIMULATOR_LATENCY: '7777/1/0' },
        imports: [observer.asModule()],
        overrides: [[Clock, clock]],
      });
      try {
        const slow = clock.whenScheduled(7777);
        if (transport === 'ws') {
          await using client = await SocketClient.open(service);
          client.create({ model: MODEL, input: WORDS });
          await slow;
          client.socket.terminate();
        } else {
          const client = new AbortController();
          const answer = fetch(`${service.baseURL}/responses`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ model: MODEL, input: WORDS, stream: transport === 'sse' }),
            signal: client.signal,
          });
          await slow;
          client.abort();
          await expect(answer).rejects.toThrow('aborted');
        }
        expect(await observer.whenSettled(1)).toMatchObject([{ status: 'disconnected' }]);
      } finally {
        clock.letGo();
        await service.close();
      }
    },
  );
});

describe('a client that reads while a model is slow', () => {
  it('a client that reads while a model is slow has every token when the pause after it begins', async () => {
    const clock = new WatchedClock();
    const service = await startService({
      environment: { SIMULATOR_LATENCY: '300/20/0', SIMULATOR_GENERATOR: 'echo' },
      overrides: [[Clock, clock]],
    });
    try {
      await using client = await SocketClient.open(service);
      let pause = clock.whenScheduled(300);
      client.create({ model: MODEL, input: WORDS });
      const deltas = [];
      for (const ms of [300, 20, 20, 20, 20]) {
        await pause;
        pause = clock.whenScheduled(20);
        clock.advance(ms);
        for (;;) {
          const { type, delta } = await client.next();
          if (type === 'response.output_text.delta') {
            deltas.push(delta);
            break;
          }
        }
      }
      expect(deltas).toEqual(['Hello', ' there', ',', ' dear', ' friend']);
    } finally {
      clock.letGo();
      await service.close();
    }
  });
});
