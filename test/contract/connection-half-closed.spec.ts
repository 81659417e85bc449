import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { frameOf, RawSocketClient } from '../support/connection-raw.js';
import { ConnectionTracker } from '../support/connection-tracker.js';
import { useFreshService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startService } from '../support/service.js';
import { WatchedClock } from '../support/clocks.js';

const LIMIT = 2048;
/** How long a client has for its side of the close at the most, ms. */
const HANDSHAKE = 10_000;

/** Ways of a client to end the WebSocket. */
const WAYS: readonly (readonly [name: string, bytes: Buffer, code: number])[] = [
  ['closes', frameOf('close', Buffer.from([0x03, 0xe8])), 1000],
  ['sends what is too long', frameOf('text', 'x'.repeat(LIMIT + 1)), 1009],
  ['sends what is no frame', Buffer.from([0x83, 0x80, 0, 0, 0, 0]), 1002],
];

describe('a client that ends the WebSocket, but keeps the line open', () => {
  let clock: WatchedClock;
  let observer: RecordingObserver;
  let tracker: ConnectionTracker;
  let client: RawSocketClient;

  // Before it closes.
  afterEach(() => {
    client.socket.destroy();
    clock.letGo();
  });
  const service = useFreshService(async () => {
    clock = new WatchedClock();
    observer = new RecordingObserver();
    return startService({
      providers: [ScriptedProvider],
      imports: [observer.asModule()],
      overrides: [[Clock, clock]],
      environment: { WS_MAX_MESSAGE_BYTES: LIMIT },
    });
  });

  beforeEach(async () => {
    tracker = new ConnectionTracker(service);
    client = await RawSocketClient.open(service);
    client.socket.allowHalfOpen = true;
  });

  it.each(WAYS)(
    'a client that ends the WebSocket, but keeps the line open, has its turns stopped at once: one that %s',
    async (_name, bytes, code) => {
      const aborted = Promise.withResolvers<undefined>();
      service.app.get(ScriptedProvider).play(async function* (_turn, { signal }) {
        signal.addEventListener('abort', () => aborted.resolve(undefined));
        yield { type: 'text', delta: 'before' };
        await new Promise(() => undefined);
      });
      client.send('text', { type: 'response.create', model: 'scripted', input: 'Go on.', store: true });
      expect(await client.nextEvent()).toMatchObject({ type: 'response.created' });
      client.socket.write(bytes);
      expect(await client.nextClose()).toMatchObject({ code });
      await aborted.promise;
      expect(await observer.whenSettled(1)).toMatchObject([{ status: 'disconnected' }]);
    },
  );

  it.each(WAYS)(
    'a client that ends the WebSocket, but keeps the line open, does not keep its place: one that %s',
    async (_name, bytes, code) => {
      client.socket.write(bytes);
      expect(await client.nextClose()).toMatchObject({ code });
      clock.advance(HANDSHAKE);
      await tracker.whenSockets(0);
    },
  );
});
