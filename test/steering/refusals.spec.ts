import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { describeService, useService } from '../support/describe-service.js';
import { type WrittenTurn, WrittenTurns } from '../support/held-turns.js';
import { SocketClient } from '../support/socket-client.js';
import { SteeredLane } from '../support/steered-lane.js';

describe('a steer is refused', () => {
  const service = useService({ providers: [ScriptedProvider] });

  async function begin(
    body: object = {},
  ): Promise<{ client: SocketClient; lane: SteeredLane; id: string; modelTurn: WrittenTurn }> {
    const client = await SocketClient.open(service);
    const lane = new SteeredLane(client, 'a');
    const modelTurns = new WrittenTurns(service.provider);
    lane.create(body);
    const modelTurn = await modelTurns.next();
    modelTurn.write({ type: 'text', delta: 'Right' });
    const { id } = await lane.created();
    await lane.until('response.output_text.delta');
    return { client, lane, id, modelTurn };
  }

  const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };

  it.each<[why: string, members: (id: string) => object, code: string]>([
    [
      'for an unknown response, first of all',
      () => ({ previous_response_id: 'resp_1', input: 7 }),
      'response_not_found',
    ],
    ['without a response', () => ({ input: 'x' }), 'response_not_found'],
    ['for what is no id', () => ({ previous_response_id: { toString: 1 }, input: 'x' }), 'response_not_found'],
    ['without input', (id) => ({ previous_response_id: id }), 'invalid_input'],
    ['with an empty text', (id) => ({ previous_response_id: id, input: '' }), 'invalid_input'],
    ['without messages', (id) => ({ previous_response_id: id, input: [] }), 'invalid_input'],
    [
      'with an empty message',
      (id) => ({ previous_response_id: id, input: [{ role: 'user', content: [] }] }),
      'invalid_input',
    ],
    [
      'of the assistant',
      (id) => ({ previous_response_id: id, input: [{ role: 'assistant', content: 'x' }] }),
      'invalid_input',
    ],
    [
      'with a part of another type',
      (id) => ({ previous_response_id: id, input: [{ role: 'user', content: [{ type: 'output_text', text: 'x' }] }] }),
      'invalid_input',
    ],
    [
      'with an item of another type',
      (id) => ({ previous_response_id: id, input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }),
      'invalid_input',
    ],
    ['with another member', (id) => ({ previous_response_id: id, input: 'x', stream_id: 'a' }), 'invalid_input'],
  ])('a steer is refused %s', async (_, members, code) => {
    service.provider.isSteerable = true;
    const { client, lane, id, modelTurn } = await begin();
    await using _client = client;
    const sent = members(id);
    client.send({ type: 'response.steer', ...sent });
    const known = 'previous_response_id' in sent && sent.previous_response_id === id;
    const failed = known ? await lane.until('response.steer.failed') : await client.nextOf();
    expect(failed).toMatchObject({ type: 'response.steer.failed', sequence_number: 0, error: { code } });
    expect(failed['steer']).toEqual({ previous_response_id: null, input: null, ...pick(sent) });
    modelTurn.end();
    expect(await lane.end()).toMatchObject({ status: 'completed' });
  });

  it('a steer with messages of text and images is not refused', async () => {
    service.provider.isSteerable = true;
    const { client, lane, id } = await begin();
    await using _client = client;
    lane.steer(id, [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }, image] }]);
    await lane.until('response.steer.accepted');
    await lane.end();
  });

  it('a steer is refused from another connection, and when the response has ended', async () => {
    service.provider.isSteerable = true;
    const { client, lane, id, modelTurn } = await begin();
    await using _client = client;
    await using other = await SocketClient.open(service);
    new SteeredLane(other).steer(id);
    expect(await other.next()).toMatchObject({ error: { code: 'response_not_found' } });
    modelTurn.end();
    await lane.end();
    lane.steer(id);
    expect(await client.next()).toMatchObject({ error: { code: 'response_already_completed' } });
  });

  it('a steer is refused by what became of the response, however long ago and whatever its lane did since', async () => {
    service.provider.isSteerable = true;
    const { client, lane, id: steered, modelTurn } = await begin();
    await using _client = client;
    const modelTurns = new WrittenTurns(service.provider);
    lane.steer(steered);
    await lane.end();
    const successorPen = await modelTurns.next();
    const { id: successor } = await lane.created();
    successorPen.end();
    await lane.end();
    await modelTurn.stopped;
    const ids = [steered, successor];
    for (let turn = 0; turn < 62; turn++) {
      lane.create({});
      (await modelTurns.next()).end();
      await lane.created();
      ids.push((await lane.end()).id);
    }
    lane.steer(steered);
    expect(await lane.next()).toMatchObject({
      error: {
        code: 'response_already_completed',
        message: 'The response was steered; steer its successor, whose response.created follows.',
      },
    });
    for (const id of ids.slice(1)) {
      lane.steer(id);
      expect(await lane.next()).toMatchObject({ error: { code: 'response_already_completed' } });
    }
    lane.create({});
    (await modelTurns.next()).end();
    await lane.created();
    await lane.end();
    // One more, and the oldest is forgotten.
    lane.steer(steered);
    expect(await client.next()).toMatchObject({ error: { code: 'response_not_found' } });
  });

  it('a steer is refused as one that has ended while it waits for outputs, also after a later turn has failed', async () => {
    service.provider.isSteerable = true;
    const { client, lane, id, modelTurn } = await begin({ store: true });
    await using _client = client;
    const modelTurns = new WrittenTurns(service.provider);
    modelTurn.write({ type: 'function_call', name: 'weather', callId: 'call_1' });
    await lane.until('response.output_item.added');
    lane.steer(id);
    await lane.until('response.steer.accepted');
    modelTurn.end();
    await lane.end();
    expect(await lane.next()).toMatchObject({ type: 'response.steer.pending' });
    lane.create({});
    const failing = await modelTurns.next();
    failing.write({ type: 'text', delta: 'Right' });
    const { id: failed } = await lane.created();
    failing.write({ type: 'nonsense' } as never);
    expect(await lane.end()).toMatchObject({ status: 'failed' });
    lane.steer(id);
    expect(await lane.next()).toMatchObject({ error: { code: 'response_already_completed' } });
    lane.steer(failed);
    expect(await lane.next()).toMatchObject({ error: { code: 'response_not_active' } });
  });

  it.each<[what: string, members: (id: string) => object, message: string, line: string]>([
    ['a missing id', () => ({ input: 'x' }), "Missing required parameter: 'previous_response_id'.", 'not_found'],
    [
      'a lane',
      (id) => ({ previous_response_id: id, input: 'x', stream_id: 'a' }),
      "Unknown parameter: 'stream_id'. The response decides the lane.",
      'invalid_input',
    ],
    [
      'an item of another type',
      (id) => ({ previous_response_id: id, input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }),
      "Invalid 'input[0].type': a response is steered with messages of the user.",
      'invalid_input',
    ],
  ])('a steer is refused with a message and a line of the log that name %s', async (_, members, message, line) => {
    service.provider.isSteerable = true;
    const { client, id, modelTurn } = await begin();
    await using _client = client;
    using log = ServiceLog.begin();
    client.send({ type: 'response.steer', ...members(id) });
    let frame = await client.next();
    while (frame.type !== 'response.steer.failed') frame = await client.next();
    expect(frame).toMatchObject({ error: { message } });
    expect(log.notes).toEqual([expect.stringMatching(`^\\S+ 40[04] \\w*${line} Refused$`)]);
    modelTurn.end();
  });

  it('a steer is refused when its model cannot be steered', async () => {
    service.provider.isSteerable = false;
    const { client, lane, id, modelTurn } = await begin();
    await using _client = client;
    lane.steer(id, 7);
    expect(await lane.until('response.steer.failed')).toMatchObject({ error: { code: 'steering_not_supported' } });
    modelTurn.end();
    await lane.end();
  });
});

function pick({ previous_response_id: id, input }: { previous_response_id?: unknown; input?: unknown }): object {
  return { ...(id === undefined ? {} : { previous_response_id: id }), ...(input === undefined ? {} : { input }) };
}

describeService('the simulator', { environment: { SIMULATOR_LATENCY: '5/2' } }, (service) => {
  it.each([
    ['gpt-5.2', 'response.steer.accepted', 'incomplete'],
    ['gpt-4.1', 'response.steer.failed', 'completed'],
  ])('the simulator has %s answer a steer with %s', async (model, answer, status) => {
    await using client = await SocketClient.open(service);
    const lane = new SteeredLane(client);
    lane.create({ model, input: 'Tell me a long story about the sea' });
    const { id } = await lane.created();
    await lane.until('response.output_text.delta');
    lane.steer(id);
    await lane.until(answer);
    expect(await lane.end()).toMatchObject({ status });
    if (status === 'incomplete') {
      expect(await lane.created()).toMatchObject({ previous_response_id: id });
      await lane.end();
    }
  });
});
