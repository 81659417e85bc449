import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';

import type { ModelEvent } from '../../src/index.js';
import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { TRANSPORTS } from '../support/transports.js';
import { close, CONTRADICTIONS, message, open, pass, PASSED_ITEMS, type PassedItemCase, text } from './passed-items.js';

type Item = Readonly<Record<string, unknown>>;

const turn = { model: 'scripted', input: 'Go on.' };

describe('the items of an upstream', () => {
  const service = useService({ providers: [ScriptedProvider] });

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(PASSED_ITEMS)(
      'the items of an upstream reach the client as they are: $name',
      async ({ events, output, status, deltas, types }) => {
        service.provider.reply(...events);
        const { response, events: streamed } = await transport.run(service, turn);
        expect(response).toMatchObject({ status: status ?? 'completed', output });
        expect(response['output']).toEqual(output);
        const stored = (await (await fetch(`${service.baseURL}/responses/${response.id}`)).json()) as Item;
        expect(stored['output']).toEqual(output);
        if (streamed === undefined) return;
        if (deltas !== undefined) expect(deltasOf(streamed)).toEqual(deltas);
        if (types !== undefined) expect(typesBetween(streamed)).toEqual(types);
      },
    );
  });

  it.each([...PASSED_ITEMS, ...CONTRADICTIONS])(
    'the SDK accepts the items of an upstream: $name',
    async ({ events, output }) => {
      service.provider.reply(...events);
      const stream = service.client().responses.stream(turn);
      expect((await stream.finalResponse()).output).toMatchObject(output);
    },
  );

  it.each(CONTRADICTIONS)('the items of an upstream follow their final form: $name', async (passed) => {
    const { streamed, output } = await stream(passed);
    expect(output).toEqual(passed.output);
    if (passed.deltas !== undefined) expect(deltasOf(streamed)).toEqual(passed.deltas);
    if (passed.types !== undefined) expect(typesBetween(streamed)).toEqual(passed.types);
  });

  it('the items of an upstream end with the final text where it contradicts the streamed one', async () => {
    const passed = CONTRADICTIONS[0] as PassedItemCase;
    const { streamed } = await stream(passed);
    const done = streamed.filter(({ type }) => type.endsWith('.done'));
    expect(done).toMatchObject([
      { type: 'response.output_text.done', text: 'Hi there.' },
      { type: 'response.content_part.done', part: { text: 'Hi there.' } },
      { type: 'response.output_item.done', item: message(text('Hi there.')) },
    ]);
  });

  it('the items of an upstream begin with the members that the upstream gave them', async () => {
    const { streamed } = await stream({ name: '', events: pass(message(text('Hi'))), output: [] });
    expect(streamed.find(({ type }) => type === 'response.output_item.added')).toMatchObject({
      item: { ...message(), status: 'in_progress', phase: 'final_answer' },
    });
  });

  it('the items of an upstream show what the upstream says of the end', async () => {
    service.provider.reply({ type: 'finish', reason: 'length', incompleteReason: 'max_messages', serviceTier: 'flex' });
    expect(await service.client().responses.create(turn)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_messages' },
      service_tier: 'flex',
    });
    service.provider.reply({ type: 'finish', reason: 'stop', incompleteReason: 'ignored', serviceTier: 'priority' });
    expect(await service.client().responses.create(turn)).toMatchObject({
      status: 'completed',
      incomplete_details: null,
      service_tier: 'priority',
    });
  });

  describe('have ids that', () => {
    const idsOf = ({ output }: { readonly output: readonly object[] }): readonly string[] =>
      output.map((item) => String((item as Item)['id']));
    const passAs = (id: unknown, key: string): readonly ModelEvent[] => {
      const item = { ...message(text('Hi')), id };
      return [open(item, key), close(item, key)];
    };

    it('the ids of an upstream get a unique beginning when they are short', async () => {
      service.provider.reply(...passAs('msg_1', 'a'));
      const [id] = idsOf(await service.client().responses.create(turn));
      expect(id).toMatch(/^msg_[0-9a-f]{32}_msg_1$/);
    });

    it('ids differ within a response and along a chain, even if those of the upstream do not', async () => {
      const seen: string[] = [];
      const client = service.client();
      let parent: string | undefined;
      for (let round = 0; round < 3; round++) {
        service.provider.reply(...passAs('msg_0000000000000001', 'a'), ...passAs('msg_0000000000000001', 'b'));
        const response = await client.responses.create({ ...turn, ...(parent && { previous_response_id: parent }) });
        parent = response.id;
        seen.push(...idsOf(response));
      }
      expect(seen[0]).toBe('msg_0000000000000001');
      expect(new Set(seen).size).toBe(6);
    });

    it('a client that keeps nothing here can send back', async () => {
      const client = service.client();
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Hi' }];
      for (let round = 0; round < 3; round++) {
        service.provider.reply(...passAs('msg_0000000000000001', 'a'), ...pass(whatCalls(round)));
        const { output } = await client.responses.create({ model: 'scripted', input, store: false });
        input.push(...(output as never[]), {
          type: 'function_call_output',
          call_id: `call_${round}`,
          output: 'x',
        } as never);
      }
      expect(new Set(idsOf({ output: input })).size).toBeGreaterThan(6);
    });
  });

  async function stream({ events }: PassedItemCase): Promise<{ streamed: readonly WireEvent[]; output: unknown }> {
    service.provider.reply(...events);
    const answer = await service.client().responses.create({ ...turn, stream: true });
    const streamed = (await Array.fromAsync(answer)) as unknown as readonly WireEvent[];
    return { streamed, output: (streamed.at(-1)?.['response'] as Item)['output'] };
  }
});

function whatCalls(round: number): Parameters<typeof pass>[0] {
  return { id: 'fc_0000000000000001', type: 'function_call', call_id: `call_${round}`, name: 'f', arguments: '{}' };
}

function deltasOf(events: readonly WireEvent[]): readonly (readonly unknown[])[] {
  return events
    .filter(({ type }) => type.endsWith('.delta'))
    .map(({ type, delta }) => [type.replace(/^response\.|\.delta$/g, ''), delta]);
}

function typesBetween(events: readonly WireEvent[]): readonly string[] {
  const types = events.map(({ type }) => type.replace('response.', ''));
  return types.slice(types.indexOf('in_progress') + 1, -1);
}
