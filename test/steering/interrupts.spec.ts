import { describe, expect, it } from '@jest/globals';

import { type CountOptions, type ModelEvent, type ModelInfo, ModelProvider, type Turn } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { useService } from '../support/describe-service.js';
import { WrittenTurns } from '../support/held-turns.js';
import { SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { SteeredLane } from '../support/steered-lane.js';
import { runTools, TestPolicy } from '../support/test-policy.js';

const WRONG_MODE = "Invalid value for 'mode'. Supported values are: 'discard_partial_items'.";
const WORD: ModelEvent = { type: 'text', delta: 'Right' };

/** The window of CountingProvider's models. */
const WINDOW = 2000;

/** A model that takes its time to count whether a context fits. */
@ModelProvider('scripted')
class CountingProvider extends ScriptedProvider {
  fits: (() => Promise<void>) | null = null;

  override find(model: string): ModelInfo {
    return { ...super.find(model), contextWindow: WINDOW };
  }

  override async countTokens(_turn: Turn, { limit }: CountOptions): Promise<number> {
    if (limit === WINDOW) await this.fits?.();
    return 10;
  }
}

describe('a response that is interrupted before its model is asked again', () => {
  const policy = new TestPolicy();
  const service = useService({ providers: [CountingProvider], imports: [policy.asModule()] });

  it('a response that is interrupted before its model is asked again has used what was asked', async () => {
    const provider = service.app.get<CountingProvider>(CountingProvider);
    const modelTurns = new WrittenTurns(provider);
    await using client = await SocketClient.open(service);
    const lane = new SteeredLane(client);
    const [asked, goOn] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    policy.follow = () => runTools('weather');
    lane.create({
      input: 'word '.repeat(WINDOW),
      context_management: [{ type: 'compaction', compact_threshold: WINDOW / 2 }],
    });
    const modelTurn = await modelTurns.next();
    provider.fits = () => {
      asked.resolve(undefined);
      return goOn.promise;
    };
    modelTurn.end(
      { type: 'function_call', name: 'weather', callId: 'call_1' },
      { type: 'usage', input: 20, output: 3 },
    );
    const { id } = await lane.created();
    await asked.promise;
    lane.interrupt(id);
    await lane.until('response.interrupt.accepted');
    goOn.resolve(undefined);
    expect(await lane.end()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'interrupted' },
      usage: { input_tokens: 20, output_tokens: 3 },
    });
  });
});

describe('an interrupted response', () => {
  const policy = new TestPolicy();
  const service = useService({ providers: [ScriptedProvider], imports: [policy.asModule()] });

  async function open(
    streamId?: string,
  ): Promise<{ client: SocketClient; lane: SteeredLane; modelTurns: WrittenTurns }> {
    policy.follow = () => undefined;
    // Any model can be interrupted.
    service.provider.isSteerable = false;
    const client = await SocketClient.open(service);
    return { client, lane: new SteeredLane(client, streamId), modelTurns: new WrittenTurns(service.provider) };
  }

  it.each([undefined, 'a'])(
    'an interrupted response keeps what is finished and discards the rest, on lane %s',
    async (streamId) => {
      const { client, lane, modelTurns } = await open(streamId);
      await using _client = client;
      // As Codex sends it to Lite models.
      lane.create({
        store: false,
        stream: true,
        parallel_tool_calls: false,
        reasoning: { effort: 'low', context: 'all_turns' },
      });
      const first = await modelTurns.next();
      first.write(
        { type: 'reasoning', delta: 'Hm', key: 'r' },
        { type: 'end', key: 'r' },
        { ...WORD, key: 'a' },
        { type: 'custom_tool_call', name: 'exec', callId: 'call_1', key: 'b' },
        { type: 'custom_tool_call_input', delta: 'ls', key: 'b' },
      );
      const { id } = await lane.created();
      await lane.until('response.custom_tool_call_input.delta');
      lane.interrupt(id);
      expect(await lane.until('response.interrupt.accepted')).toEqual({
        type: 'response.interrupt.accepted',
        response_id: id,
        ...(streamId === undefined ? {} : { stream_id: streamId }),
      });
      expect(await lane.until('response.output_item.interrupted')).toMatchObject({
        response_id: id,
        item_id: expect.stringMatching(/^msg_/),
        output_index: 1,
      });
      expect(await lane.until('response.output_item.interrupted')).toMatchObject({ output_index: 2 });
      await first.stopped;
      const { status, incomplete_details: details, output, usage } = await lane.end();
      expect({ status, details }).toEqual({ status: 'incomplete', details: { reason: 'interrupted' } });
      expect(output).toMatchObject([{ type: 'reasoning' }]);
      expect((usage as { readonly output_tokens: number }).output_tokens).toBeGreaterThan(1);

      // Codex goes on with nothing new at times.
      lane.create({ store: false, previous_response_id: id, input: [] });
      const second = await modelTurns.next();
      expect(transcript(second.turn.context)).toEqual(['user: Begin', 'reasoning']);
      second.end(WORD);
      await lane.created();
      await expect(lane.end()).resolves.toMatchObject({ status: 'completed' });
    },
  );

  it('an interrupted response waits for the tools of the server, whose calls have their outputs', async () => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    const [asked, goOn] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    policy.follow = () => ({
      answer: async (pass) => {
        asked.resolve(undefined);
        await goOn.promise;
        return runTools('weather').answer?.(pass);
      },
    });
    lane.create({});
    (await modelTurns.next()).end({ type: 'function_call', name: 'weather', callId: 'call_1' });
    const { id } = await lane.created();
    await asked.promise;
    lane.interrupt(id);
    await lane.until('response.interrupt.accepted');
    goOn.resolve(undefined);
    expect(await lane.end()).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'interrupted' } });
    lane.create({ previous_response_id: id, input: 'And?' });
    const second = await modelTurns.next();
    expect(transcript(second.turn.context)).toEqual([
      'user: Begin',
      'function_call',
      'function_call_output',
      'user: And?',
    ]);
    second.end(WORD);
    await lane.created();
    await lane.end();
  });

  it('an interrupted response fails its steers, and takes no more', async () => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    service.provider.isSteerable = true;
    lane.create({});
    (await modelTurns.next()).write({ type: 'function_call', name: 'weather' });
    const { id } = await lane.created();
    await lane.until('response.output_item.added');
    lane.steer(id, 'Lost');
    await lane.until('response.steer.accepted');
    lane.interrupt(id);
    await lane.end();
    expect(await lane.next()).toMatchObject({
      type: 'response.steer.failed',
      error: { code: 'response_not_active' },
      steer: { input: 'Lost' },
    });
  });

  it.each([
    ['of another mode', (id: string) => ({ response_id: id, mode: 'keep' }), 'invalid_value', WRONG_MODE],
    ['without a mode', (id: string) => ({ response_id: id }), 'invalid_value', WRONG_MODE],
    [
      'with a member that it does not have',
      (id: string) => ({ response_id: id, mode: 'discard_partial_items', reason: 'Late.' }),
      'invalid_value',
      "Unknown parameter: 'reason'.",
    ],
    [
      'that is unknown',
      () => ({ response_id: 'resp_1', mode: 'discard_partial_items' }),
      'response_not_found',
      'No response with this id runs on this connection.',
    ],
    [
      'without an id',
      () => ({ mode: 'discard_partial_items' }),
      'response_not_found',
      "Missing required parameter: 'response_id'.",
    ],
  ])('an interrupted response is refused %s, and goes on', async (_, frame, code, reason) => {
    const { client, lane, modelTurns } = await open();
    await using _client = client;
    lane.create({});
    const modelTurn = await modelTurns.next();
    modelTurn.write(WORD);
    const { id } = await lane.created();
    using log = ServiceLog.begin();
    client.send({ type: 'response.interrupt', ...frame(id) });
    expect(await lane.until('response.interrupt.failed')).toMatchObject({ error: { code, message: reason } });
    expect(log.notes).toEqual([expect.stringMatching(`^\\S+ 40[04] ${code} Refused$`)]);
    modelTurn.end(WORD);
    expect(await lane.end()).toMatchObject({ status: 'completed' });
    lane.interrupt(id);
    expect(await lane.next()).toMatchObject({
      type: 'response.interrupt.failed',
      response_id: id,
      error: { code: 'response_already_completed' },
    });
  });
});
