import { describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { WrittenTurns } from '../support/held-turns.js';
import { SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { SteeredLane } from '../support/steered-lane.js';
import { runTools, TestPolicy } from '../support/test-policy.js';

const CALL: ModelEvent = { type: 'function_call', name: 'weather', callId: 'call_1' };
const WORD: ModelEvent = { type: 'text', delta: 'Right' };

describe('a steered response', () => {
  const policy = new TestPolicy();
  const service = useService({
    providers: [ScriptedProvider],
    imports: [policy.asModule()],
    environment: { MODEL_ACCEPT_TIMEOUT_MS: 1, MAX_RUNNING_TURNS: 3 },
  });

  async function open(
    streamId?: string,
  ): Promise<{ client: SocketClient; lane: SteeredLane; modelTurns: WrittenTurns }> {
    service.provider.isSteerable = true;
    policy.follow = () => undefined;
    const client = await SocketClient.open(service);
    return { client, lane: new SteeredLane(client, streamId), modelTurns: new WrittenTurns(service.provider) };
  }

  it.each<[where: string, written: readonly ModelEvent[], kept: readonly unknown[], store: boolean]>([
    ['in its text', [WORD], [{ status: 'incomplete', content: [{ text: 'Right' }] }], true],
    ['in its text, unstored', [WORD], [{ status: 'incomplete', content: [{ text: 'Right' }] }], false],
    [
      'in its reasoning',
      [{ type: 'reasoning', delta: 'Hm' }],
      [{ type: 'reasoning', content: [{ text: 'Hm' }] }],
      false,
    ],
    [
      'between two items',
      [
        { type: 'reasoning', delta: 'Hm', key: 'r' },
        { type: 'end', key: 'r' },
        { ...WORD, key: 'a' },
        { type: 'end', key: 'a' },
      ],
      [{ type: 'reasoning' }, { status: 'completed', content: [{ text: 'Right' }] }],
      true,
    ],
    ['before its first word', [], [], false],
  ])(
    'a steered response stops %s, and its successor goes on with the same settings',
    async (_, written, kept, store) => {
      const { client, lane, modelTurns } = await open('a');
      await using _client = client;
      lane.create({ store, instructions: 'Be brief', metadata: { of: 'both' } });
      const first = await modelTurns.next();
      if (written.length > 0) first.write(...written);
      const { id } = await lane.created();
      await lane.until(written.length > 0 ? 'response.output_item.added' : 'response.in_progress');
      lane.steer(id);
      lane.create({ input: 'Queued', store: false });
      expect(await lane.until('response.steer.accepted')).toMatchObject({
        stream_id: 'a',
        steer: { id: expect.stringMatching(/^steer_[0-9a-f]{32}$/), previous_response_id: id },
      });
      await first.stopped;
      const response = await lane.end();
      expect(response).toMatchObject({
        id,
        status: 'incomplete',
        incomplete_details: { reason: 'steered' },
        output: kept,
        usage: { input_tokens: expect.any(Number) },
      });
      expect(response.output).toHaveLength(kept.length);

      const second = await modelTurns.next();
      expect(transcript(second.turn.context).at(-1)).toBe('user: Left!');
      expect(second.turn.settings).toMatchObject({ instructions: 'Be brief', store, metadata: { of: 'both' } });
      second.end({ type: 'text', delta: 'Left it is' });
      const successor = await lane.created();
      expect(successor).toMatchObject({ previous_response_id: id });
      expect(await lane.end()).toMatchObject({ id: successor.id, status: 'completed' });

      // What was queued comes behind both.
      const third = await modelTurns.next();
      expect(transcript(third.turn.context)).toEqual(['user: Queued']);
      third.end(WORD);
      await lane.created();
      await lane.end();
      lane.create({
        input: 'And now?',
        previous_response_id: store ? successor.id : third.turn.responseId,
        store: false,
      });
      (await modelTurns.next()).end(WORD);
      await lane.created();
      await expect(lane.end()).resolves.toMatchObject({ status: 'completed' });
    },
  );

  it('a steered response takes eight inputs, and no ninth', async () => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    lane.create({});
    (await modelTurns.next()).write(CALL, { type: 'function_call_arguments', delta: '{' });
    const { id } = await lane.created();
    await lane.until('response.function_call_arguments.delta');
    for (let number = 1; number <= 8; number++) lane.steer(id, `Steer ${number}`);
    lane.steer(id, 'One too many');
    expect(await lane.until('response.steer.failed')).toMatchObject({ error: { code: 'too_many_pending_steers' } });
    expect(lane.types.filter((type) => type === 'response.steer.accepted')).toHaveLength(8);
    lane.interrupt(id);
    await lane.end();
  });

  it('a steered response has up to eight inputs wait, which come in order', async () => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    lane.create({});
    const first = await modelTurns.next();
    first.write({ type: 'custom_tool_call', name: 'grep', callId: 'call_1' });
    const { id } = await lane.created();
    await lane.until('response.output_item.added');
    for (let number = 1; number <= 8; number++) lane.steer(id, `Steer ${number}`);
    for (let number = 1; number <= 8; number++) await lane.until('response.steer.accepted');
    first.end();
    expect(await lane.end()).toMatchObject({ status: 'completed' });
    for (let number = 1; number <= 8; number++) {
      expect(await lane.next()).toMatchObject({
        required_input: [{ type: 'custom_tool_call_output', call_id: 'call_1' }],
      });
    }
    lane.create({
      previous_response_id: id,
      input: [{ type: 'custom_tool_call_output', call_id: 'call_1', output: 'x' }],
    });
    const second = await modelTurns.next();
    expect(transcript(second.turn.input).slice(0, 8)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `user: Steer ${n}`));
    second.end(WORD);
    await lane.created();
    await lane.end();
  });

  it('a steered response does not have its steers wait for the output of an asynchronous call', async () => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    lane.create({ tools: [{ type: 'function', name: 'weather', async: true }] });
    const first = await modelTurns.next();
    first.write(CALL, { type: 'function_call_arguments', delta: '{' });
    const { id } = await lane.created();
    await lane.until('response.function_call_arguments.delta');
    lane.steer(id, 'Left!');
    await lane.until('response.steer.accepted');
    first.end({ type: 'function_call_arguments', delta: '}' });
    expect(await lane.end()).toMatchObject({ output: [{ type: 'function_call', async: true }] });
    const second = await modelTurns.next();
    expect(transcript(second.turn.input)).toEqual(['user: Left!']);
    second.end(WORD);
    await expect(lane.created()).resolves.toMatchObject({ previous_response_id: id });
    await lane.end();
  });

  it('a steered response is not cut in a call: its steers wait for the outputs of the client, and come in front of them', async () => {
    const { client, lane, modelTurns } = await open('a');
    await using _client = client;
    lane.create({});
    const first = await modelTurns.next();
    first.write(CALL, { type: 'function_call_arguments', delta: '{' });
    const { id } = await lane.created();
    await lane.until('response.function_call_arguments.delta');
    lane.steer(id, 'Left!');
    await lane.until('response.steer.accepted');
    lane.steer(id, [{ role: 'user', content: [{ type: 'input_text', text: 'And up' }] }]);
    await lane.until('response.steer.accepted');
    first.end({ type: 'function_call_arguments', delta: '}' });
    const { output } = await lane.end();
    expect(output).toMatchObject([{ type: 'function_call', arguments: '{}', status: 'completed' }]);
    for (const _ of [1, 2]) {
      expect(await lane.next()).toEqual({
        type: 'response.steer.pending',
        sequence_number: expect.any(Number),
        stream_id: 'a',
        reason: 'waiting_for_required_input',
        required_input: [{ type: 'function_call_output', call_id: 'call_1', name: 'weather' }],
        steer: { id: expect.any(String), previous_response_id: id },
      });
    }
    lane.steer(id);
    expect(await lane.next()).toMatchObject({ error: { code: 'response_already_completed' } });
    // A refused turn does not lose them, and a turn of another lane does not get them.
    lane.create({ previous_response_id: id, input: [] });
    expect(await lane.next()).toMatchObject({ type: 'error' });
    const answer = { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' };
    lane.create({ previous_response_id: id, input: [answer], store: false });
    const second = await modelTurns.next();
    expect(transcript(second.turn.input)).toEqual(['user: Left!', 'user: And up', 'function_call_output']);
    second.end(WORD);
    await lane.created();
    const { id: next } = await lane.end();
    lane.create({ previous_response_id: next, input: 'Again', store: false });
    const third = await modelTurns.next();
    expect(transcript(third.turn.input)).toEqual(['user: Again']);
    third.end(WORD);
    await lane.created();
    await lane.end();
  });

  it('a steered response may be answered before its steers are pending, and a warm-up does not take them', async () => {
    const { client, lane, modelTurns } = await open('a');
    await using _client = client;
    lane.create({});
    const first = await modelTurns.next();
    first.write(CALL);
    const { id } = await lane.created();
    await lane.until('response.output_item.added');
    const answer = { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' };
    lane.steer(id);
    lane.create({ previous_response_id: id, input: [answer], generate: false });
    lane.create({ previous_response_id: id, input: [answer] });
    await lane.until('response.steer.accepted');
    first.end({ type: 'function_call_arguments', delta: '{}' });
    await lane.end();
    expect(await lane.next()).toMatchObject({ type: 'response.steer.pending' });
    await lane.created();
    expect(await lane.next()).toMatchObject({ type: 'response.completed', response: { output: [] } });
    const second = await modelTurns.next();
    expect(transcript(second.turn.input)).toEqual(['user: Left!', 'function_call_output']);
    second.end(WORD);
    await lane.created();
    await lane.end();
  });

  it('a steered response ends between two passes once the server has answered its calls', async () => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    policy.follow = () => runTools('weather');
    lane.create({ store: true });
    const first = await modelTurns.next();
    first.write(CALL);
    const { id } = await lane.created();
    await lane.until('response.output_item.added');
    lane.steer(id);
    await lane.until('response.steer.accepted');
    first.end({ type: 'function_call_arguments', delta: '{}' });
    expect(await lane.end()).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'steered' } });
    const second = await modelTurns.next();
    expect(transcript(second.turn.context)).toEqual([
      'user: Begin',
      'function_call',
      'function_call_output',
      'user: Left!',
    ]);
    second.end(WORD);
    expect(await lane.created()).toMatchObject({ previous_response_id: id });
    await lane.end();
  });

  it('a steered response keeps its lane busy until its successor has ended', async () => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    lane.create({});
    (await modelTurns.next()).write(WORD);
    const { id } = await lane.created();
    await lane.until('response.output_text.delta');
    lane.steer(id);
    await lane.end();
    lane.create({ input: 'Overlap' });
    let frame = await lane.next();
    while (frame.type !== 'error') frame = await lane.next();
    expect(frame).toMatchObject({ error: { code: 'concurrent_request' } });
    (await modelTurns.next()).end(WORD);
    expect(await client.nextEnd()).toMatchObject({ type: 'response.completed' });
  });

  it('a steered response does not disturb another lane', async () => {
    const { client, lane, modelTurns } = await open('a');
    await using _client = client;
    const other = new SteeredLane(client, 'b');
    lane.create({});
    const [first] = [await modelTurns.next()];
    other.create({});
    const second = await modelTurns.next();
    first.write(WORD);
    second.write(WORD);
    const { id } = await lane.created();
    await other.created();
    lane.steer(id);
    await lane.end();
    (await modelTurns.next()).end(WORD);
    await lane.created();
    await lane.end();
    second.end(WORD);
    expect(await other.end()).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'RightRight' }] }] });
  });
});
