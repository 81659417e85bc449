import { afterAll, describe, expect, it } from '@jest/globals';

import { Clock, IdGenerator } from '../../src/index.js';
import { ScriptedProvider, SequentialIdGenerator } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { withoutIds } from '../support/normalise.js';
import type { TurnResult, WireResponse } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';
import { WatchedClock } from '../support/clocks.js';
import type { ParityTurn } from './parity-turn.js';
import { PARITY_TURNS } from './parity-turns.js';

describe('the same turn on every transport', () => {
  const clock = new WatchedClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService({
    providers: [ScriptedProvider],
    overrides: [
      [Clock, clock],
      [IdGenerator, new SequentialIdGenerator()],
    ],
  });

  const runEverywhere = (turn: ParityTurn): Promise<readonly TurnResult[]> =>
    TRANSPORTS.reduce<Promise<readonly TurnResult[]>>(async (before, transport) => {
      const results = await before;
      const provider = service.app.get(ScriptedProvider);
      if (typeof turn.model === 'function') provider.play(turn.model);
      else provider.reply(...turn.model);
      return [...results, await transport.run(service, { model: 'scripted', input: 'Go on.', ...turn.body })];
    }, Promise.resolve([]));

  const retrieve = async (id: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${service.baseURL}/responses/${id}`);
    expect(answer.status).toBe(200);
    return (await answer.json()) as Record<string, unknown>;
  };

  it.each(PARITY_TURNS)('one turn gives the same response on every transport: $name', async (turn) => {
    const results = await runEverywhere(turn);
    const [first, ...others] = results.map(({ response }) => withoutIds(withoutOutputText(response)));
    expect(first).toMatchObject(turn.expected);
    for (const other of others) expect(other).toEqual(first);
  });

  it.each(PARITY_TURNS)('one turn gives the stored response again: $name', async (turn) => {
    for (const { response } of await runEverywhere(turn)) {
      const stored = await retrieve(response.id);
      expect(withoutOutputText(stored)).toEqual(withoutOutputText(response));
      expect(stored['output_text']).toBe(textOf(response));
    }
  });

  it.each(PARITY_TURNS.filter(({ events }) => events !== undefined))(
    'a turn streams what belongs to it: $name',
    async (turn) => {
      const streamed = (await runEverywhere(turn)).flatMap(({ events }) => (events === undefined ? [] : [events]));
      expect(streamed.length).toBeGreaterThan(0);
      for (const events of streamed) {
        expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining([...(turn.events ?? [])]));
      }
    },
  );

  it('the service puts output_text on JSON bodies and nowhere else', async () => {
    const turn: ParityTurn = { name: '', model: [{ type: 'text', delta: 'Hello' }], expected: {} };
    for (const { events, response } of await runEverywhere(turn)) {
      expect(response['output_text']).toBe(events === undefined ? 'Hello' : undefined);
    }
  });

  it('the service counts the tokens of a passed-through item whatever its id is', async () => {
    const item = { type: 'web_search_call', action: { type: 'search', query: 'antiphon' } };
    const events = [
      { type: 'item.open', key: 's', item },
      { type: 'item.close', key: 's', item },
    ] as const;
    const turn: ParityTurn = { name: '', model: events, expected: {} };
    const results = [...(await runEverywhere(turn)), ...(await runEverywhere(turn)), ...(await runEverywhere(turn))];
    const usages = results.map(({ response }) => response['usage']);
    for (const usage of usages) expect(usage).toEqual(usages[0]);
  });

  it('the service counts the same tokens on every transport where the provider reports none', async () => {
    const turn: ParityTurn = { name: '', model: [{ type: 'text', delta: 'One two three.' }], expected: {} };
    const usages = (await runEverywhere(turn)).map(({ response }) => response['usage'] as Record<string, number>);
    for (const usage of usages) {
      expect(usage).toEqual(usages[0]);
      expect(usage['input_tokens']).toBeGreaterThan(0);
      expect(usage['output_tokens']).toBeGreaterThan(0);
    }
  });
});

function withoutOutputText(response: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(response).filter(([member]) => member !== 'output_text'));
}

function textOf({ output }: WireResponse): string {
  const items = output as readonly {
    readonly content?: readonly { readonly type: string; readonly text?: string }[];
  }[];
  const parts = items.flatMap(({ content }) => content ?? []);
  return parts.flatMap(({ type, text }) => (type === 'output_text' ? [text] : [])).join('');
}
