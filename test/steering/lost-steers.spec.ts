import { describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { WrittenTurns } from '../support/held-turns.js';
import { SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { SteeredLane } from '../support/steered-lane.js';

const CALL: ModelEvent = { type: 'function_call', name: 'weather', callId: 'call_1' };
const WORD: ModelEvent = { type: 'text', delta: 'Right' };

describe('a response whose steers come to nothing', () => {
  // There is room for one steer of a thousand bytes.
  const service = useService({ providers: [ScriptedProvider], environment: { WS_QUEUE_MAX_BYTES: 1500 } });

  async function open(
    streamId?: string,
  ): Promise<{ client: SocketClient; lane: SteeredLane; modelTurns: WrittenTurns }> {
    service.provider.isSteerable = true;
    const client = await SocketClient.open(service);
    return { client, lane: new SteeredLane(client, streamId), modelTurns: new WrittenTurns(service.provider) };
  }

  it('a response fails its steers when it fails itself', async () => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    lane.create({});
    const first = await modelTurns.next();
    first.write(CALL);
    const { id } = await lane.created();
    await lane.until('response.output_item.added');
    lane.steer(id, 'Lost');
    await lane.until('response.steer.accepted');
    first.write({ type: 'function_call_arguments', delta: '{' }, { type: 'nonsense' } as never);
    expect(await lane.end()).toMatchObject({ status: 'failed' });
    expect(await lane.next()).toMatchObject({
      type: 'response.steer.failed',
      error: { code: 'successor_creation_failed' },
      steer: { id: expect.stringMatching(/^steer_/), previous_response_id: id, input: 'Lost' },
    });
    lane.steer(id);
    expect(await lane.next()).toMatchObject({ error: { code: 'response_not_active' } });
  });

  it('a response fails its steers when its successor is refused, and can still be continued', async () => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    lane.create({ store: false });
    (await modelTurns.next()).write(WORD);
    const { id } = await lane.created();
    await lane.until('response.output_text.delta');
    service.provider.play(() => {
      throw new Error('refused');
    });
    lane.steer(id);
    await lane.end();
    expect(await lane.next()).toMatchObject({
      type: 'response.steer.failed',
      error: { code: 'successor_creation_failed' },
      steer: { id: expect.stringMatching(/^steer_/), previous_response_id: id, input: 'Left!' },
    });
    lane.create({ previous_response_id: id, input: 'By hand', store: false });
    const next = await modelTurns.next();
    expect(transcript(next.turn.context)).toEqual(['user: Begin', 'assistant: Right', 'user: By hand']);
    next.end(WORD);
    await lane.created();
    await lane.end();
  });

  /** Has an unstored response end in a call, with a steer that waits for the output. */
  async function waiting(lane: SteeredLane, modelTurns: WrittenTurns, input: string): Promise<string> {
    lane.create({ store: false });
    const modelTurn = await modelTurns.next();
    modelTurn.write(CALL);
    const { id } = await lane.created();
    await lane.until('response.output_item.added');
    lane.steer(id, input);
    await lane.until('response.steer.accepted');
    modelTurn.end();
    await lane.end();
    expect(await lane.next()).toMatchObject({ type: 'response.steer.pending' });
    return id;
  }

  const lost = (id: string): object => ({
    type: 'response.steer.failed',
    error: { code: 'successor_creation_failed', message: 'The response can no longer be continued.' },
    steer: { id: expect.stringMatching(/^steer_/), previous_response_id: id, input: 'x'.repeat(1000) },
  });

  it('a response fails its steers when it can no longer be continued, and frees their share of the queue', async () => {
    const { client, lane, modelTurns } = await open('a');
    await using _client = client;
    const fork = new SteeredLane(client, 'b');
    const input = 'x'.repeat(1000);
    for (let round = 0; round < 3; round++) {
      const id = await waiting(lane, modelTurns, input);
      // A turn of another lane, and a refused one that is not its own, leave it.
      fork.create({ store: false });
      (await modelTurns.next()).end(WORD);
      await fork.created();
      await fork.end();
      // The next response of the lane takes its place, or a refused continuation drops it.
      if (round === 0) {
        lane.create({ store: false });
        (await modelTurns.next()).end(WORD);
        await lane.created();
        await lane.end();
      } else {
        lane.create({ previous_response_id: id, input: [] });
        expect(await lane.next()).toMatchObject({ type: 'error' });
      }
      expect(await lane.next()).toMatchObject(lost(id));
    }
  });

  it('a response loses its steers with the connection, and leaves nothing behind', async () => {
    const { client, lane, modelTurns } = await open();
    lane.create({});
    const first = await modelTurns.next();
    first.write(CALL);
    const { id } = await lane.created();
    await lane.until('response.output_item.added');
    lane.steer(id);
    await lane.until('response.steer.accepted');
    await client[Symbol.asyncDispose]();
    await first.stopped;
  });
});
