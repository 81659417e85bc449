import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { BreakConnectionError } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';

const QUESTION = { model: 'scripted', input: 'Hi' };

describe('a turn whose provider breaks the connection', () => {
  const observer = new RecordingObserver();
  let service: Service;

  beforeAll(async () => {
    service = await startService({ providers: [ScriptedProvider], imports: [observer.asModule()] });
  });

  afterAll(() => service.close());

  function prepare(): void {
    service.app.get(ScriptedProvider).play(async function* () {
      yield { type: 'text', delta: 'half an ans' };
      await new Promise((resolve) => setImmediate(resolve));
      throw new BreakConnectionError();
    });
  }

  it.each([true, false])('a turn that is cut ends the connection of its client, streaming: %s', async (stream) => {
    prepare();
    const answer = fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...QUESTION, stream }),
    }).then((response) => response.text());
    await expect(answer).rejects.toThrow(stream ? 'terminated' : 'fetch failed');
    expect((await observer.whenSettled(1)).at(-1)).toMatchObject({ status: 'disconnected' });
  });

  it('a turn that is cut ends the connection of a socket', async () => {
    prepare();
    await using client = await SocketClient.open(service);
    client.create(QUESTION);
    expect(await client.closed).toMatchObject({ code: 1006 });
  });
});
