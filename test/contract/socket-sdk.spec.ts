import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { ResponsesWebSocketSession } from 'openai/lib/responses/responses-websocket-session';
import { WebSocketError } from 'openai/resources/responses/internal-base';
import { ResponsesWS } from 'openai/resources/responses/ws';

import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';

type ClientEvent = Parameters<ResponsesWS['send']>[0];
type Create = Omit<Extract<ClientEvent, { type: 'response.create' }>, 'type'>;
type Lane = ReturnType<ResponsesWebSocketSession['lane']>;

const weather = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  strict: true,
} as const;

describeService('the official SDK on a socket', { providers: [ScriptedProvider] }, (service) => {
  let ws: ResponsesWS;

  beforeEach(() => {
    service.provider.turns.length = 0;
    ws = new ResponsesWS(service.client());
  });

  afterEach(async () => {
    const closed = new Promise((resolve) => ws.on('close', resolve));
    ws.close();
    await closed;
  });

  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  describe('ResponsesWS', () => {
    type Iterator = ReturnType<ResponsesWS['stream']>;

    /** One turn as a user of the SDK would write it. */
    const turn = async (iterator: Iterator, body: Create): Promise<OpenAI.Responses.Response> => {
      ws.send({ type: 'response.create', ...body });
      const events: object[] = [];
      for (;;) {
        const next = await iterator[Symbol.asyncIterator]().next();
        if (next.done === true) throw new Error('the socket was closed');
        const record = next.value;
        if (record.type === 'error') throw record.error;
        if (record.type !== 'message') continue;
        events.push(record.message);
        if (record.message.type !== 'response.completed') continue;
        checkEventOrder(events, { transport: 'ws' });
        return record.message.response;
      }
    };

    it('ResponsesWS keeps a conversation without storing it', async () => {
      const iterator = ws.stream();
      service.provider.reply({ type: 'text', delta: 'Two.' }).reply({ type: 'text', delta: 'Four.' });
      const first = await turn(iterator, { model: 'm', store: false, input: 'One?' });
      const more = { model: 'm', store: false } as const;
      const second = await turn(iterator, { ...more, previous_response_id: first.id, input: 'Three?' });
      const third = await turn(iterator, { ...more, previous_response_id: second.id, input: 'Five?' });
      expect(third).toMatchObject({ status: 'completed', previous_response_id: second.id, store: false });
      expect(seen()).toEqual(['user: One?', 'assistant: Two.', 'user: Three?', 'assistant: Four.', 'user: Five?']);
    });

    it('ResponsesWS goes through a tool conversation', async () => {
      const iterator = ws.stream();
      const settings = { model: 'm', store: false, tools: [weather] };
      let input: Create['input'] = 'Weather in Paris and Rome?';
      let previous: string | null = null;
      for (const callId of ['call_paris', 'call_rome']) {
        service.provider.reply({ type: 'function_call', name: 'get_weather', callId });
        const response: OpenAI.Responses.Response = await turn(iterator, {
          ...settings,
          input,
          previous_response_id: previous,
        });
        expect(response.output).toMatchObject([{ type: 'function_call', call_id: callId, status: 'completed' }]);
        input = [{ type: 'function_call_output', call_id: callId, output: 'sunny' }];
        previous = response.id;
      }
      service.provider.reply({ type: 'text', delta: 'Sunny everywhere.' });
      const last = await turn(iterator, { ...settings, input, previous_response_id: previous });
      expect(last.output).toMatchObject([{ type: 'message', content: [{ text: 'Sunny everywhere.' }] }]);
      const call = ['function_call', 'function_call_output'];
      expect(seen()).toEqual(['user: Weather in Paris and Rome?', ...call, ...call]);
    });

    it('ResponsesWS throws WebSocketError with the frame for a refusal, and goes on', async () => {
      const iterator = ws.stream();
      const refused = turn(iterator, { model: 'm', input: 'Hi', previous_response_id: 'resp_gone' });
      const error = await refused.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(WebSocketError);
      expect((error as WebSocketError).message).toContain("Previous response with id 'resp_gone' not found.");
      expect((error as WebSocketError).error).toMatchObject({
        type: 'error',
        status: 400,
        error: {
          type: 'invalid_request_error',
          code: 'previous_response_not_found',
          param: 'previous_response_id',
          message: "Previous response with id 'resp_gone' not found.",
        },
      });
      await expect(turn(iterator, { model: 'm', input: 'Hi' })).resolves.toMatchObject({ status: 'completed' });
    });
  });

  describe('ResponsesWebSocketSession', () => {
    let session: ResponsesWebSocketSession;

    beforeEach(async () => {
      for await (const { type } of ws) if (type === 'open') break;
      session = new ResponsesWebSocketSession(ws, {
        maxLanes: 40,
        maxBufferedEvents: 10_000,
        maxBufferedBytes: 8 << 20,
      });
    });

    afterEach(() => session.close());

    const ask = (lane: Lane, body: Create): Promise<OpenAI.Responses.Response> => {
      lane.create(body);
      return lane.finalResponse();
    };

    it.each([undefined, 'planner'])('ResponsesWebSocketSession keeps a conversation on one lane (%s)', async (name) => {
      const lane = session.lane(name);
      service.provider.reply({ type: 'text', delta: 'Two.' });
      const first = await ask(lane, { model: 'm', store: false, input: 'One?' });
      expect(first.output_text).toBe('Two.');
      const second = await ask(lane, { model: 'm', store: false, input: 'Three?', previous_response_id: first.id });
      expect(second).toMatchObject({ status: 'completed', output_text: 'ok' });
      expect(seen()).toEqual(['user: One?', 'assistant: Two.', 'user: Three?']);
    });

    it('ResponsesWebSocketSession warms up and continues from it', async () => {
      const lane = session.lane('warm');
      const warm = await ask(lane, { model: 'm', store: false, input: 'Be brief.', generate: false });
      expect(warm).toMatchObject({ status: 'completed', output: [], usage: { output_tokens: 0 } });
      expect(service.provider.turns).toHaveLength(0);
      await ask(lane, { model: 'm', store: false, input: 'Hi', previous_response_id: warm.id });
      expect(seen()).toEqual(['user: Be brief.', 'user: Hi']);
    });

    it('ResponsesWebSocketSession runs 16 turns of 32 lanes at once and the others after them, and refuses a 33rd name', async () => {
      const held = new HeldTurns(service.provider).hold(32);
      const names = Array.from({ length: 32 }, (_, index) => `lane-${index}`);
      const lanes = names.map((name) => session.lane(name));
      for (const [index, lane] of lanes.entries()) lane.create({ model: 'm', store: false, input: names[index] ?? '' });
      // Its refusal comes at once, so that everything before it has been taken by then.
      const refused = await ask(session.lane('one-more'), { model: 'm', input: 'Hi' }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(WebSocketError);
      expect((refused as WebSocketError).error).toMatchObject({
        stream_id: 'one-more',
        error: { code: 'websocket_stream_limit_reached' },
      });
      await held.whenBegun(16);
      const counts = async (): Promise<unknown> => {
        const answer = await fetch(`${service.baseURL}/connections`);
        return ((await answer.json()) as { readonly data: readonly unknown[] }).data[0];
      };
      expect(await counts()).toMatchObject({ in_flight: 16, queued: 16 });
      expect(held.begun).toEqual(names.slice(0, 16));
      const finals = lanes.map((lane) => lane.finalResponse());
      for (const [index, name] of names.entries()) {
        held.letGo(name);
        await finals[index];
        await held.whenBegun(Math.min(32, index + 17));
        expect(held.begun).toHaveLength(Math.min(32, index + 17));
      }
      const responses = await Promise.all(finals);
      expect(responses.map(({ output_text }) => output_text)).toEqual(names.map((name) => `re ${name}`));
      expect(held.peak).toBe(16);
      expect(await counts()).toMatchObject({ in_flight: 0, queued: 0 });
    });

    it('ResponsesWebSocketSession throws WebSocketError with the frame on the lane that asked, and both lanes go on', async () => {
      const [bad, good] = [session.lane('bad'), session.lane('good')];
      const refused = ask(bad, { model: 'm', input: 'Hi', tools: [{ type: 'function' } as never] });
      const fine = ask(good, { model: 'm', input: 'Hi' });
      const error = await refused.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(WebSocketError);
      expect((error as WebSocketError).error).toMatchObject({
        type: 'error',
        status: 400,
        stream_id: 'bad',
        error: { code: 'missing_required_parameter', param: 'tools[0].name' },
      });
      await expect(fine).resolves.toMatchObject({ status: 'completed' });
      await expect(ask(bad, { model: 'm', input: 'Hi' })).resolves.toMatchObject({ status: 'completed' });
    });
  });
});
