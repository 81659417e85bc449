import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { ScriptedProvider } from '../../src/testing/index.js';
import { withoutIds } from '../support/normalise.js';
import { RecordedSession } from '../support/recorded-session.js';
import type { Service } from '../support/service.js';
import type { WireResponse } from '../support/transport.js';
import { JSON_TRANSPORT, REFUSED_TURNS, type RefusedTurn, TRANSPORTS } from '../support/transports.js';
import type { ParityTurn } from './parity-turn.js';
import { RECORDED_REFUSALS, RECORDED_TURNS } from './recorded-turns.js';

/** Each turn is asked for in other words: a recording knows it by them. */
const bodyOf = ({ name, body }: Pick<ParityTurn, 'name' | 'body'>, model: string): object => ({
  model,
  input: `Please: ${name}.`,
  ...body,
});

const play = (provider: ScriptedProvider, { model }: ParityTurn): void => {
  if (typeof model === 'function') provider.play(model);
  else provider.reply(...model);
};

/** Other errors are recorded without their words, and those of the service name a request. */
const withoutWords = (error: unknown): unknown => {
  const { message, ...rest } = (error ?? {}) as { readonly message?: string };
  return message === undefined || /req_|The model failed/.test(message) ? rest : error;
};

/** What a response says, whoever says it and whenever. */
const contentOf = (response: WireResponse): unknown => {
  const { created_at: _created, completed_at: _completed, model: _model, output_text: _text, ...rest } = response;
  // The effort that was not sent is that of the model.
  const { effort: _effort, ...reasoning } = rest['reasoning'] as Readonly<Record<string, unknown>>;
  return withoutIds({ ...rest, reasoning, error: withoutWords(rest['error']) });
};

describe('a recording', () => {
  const recorded = new Map<string, unknown>();
  const refused = new Map<string, RefusedTurn>();
  let session: RecordedSession;
  let service: Service;

  const throwing = (error: unknown): ParityTurn['model'] =>
    async function* () {
      yield* [];
      throw error;
    };

  beforeAll(async () => {
    session = await RecordedSession.begin();
    await session.record(async (recording, provider) => {
      for (const [index, turn] of RECORDED_TURNS.entries()) {
        play(provider, turn);
        const transport = TRANSPORTS[index % TRANSPORTS.length] ?? JSON_TRANSPORT;
        const { response } = await transport.run(recording, bodyOf(turn, 'scripted'));
        expect(response).toMatchObject(turn.expected);
        recorded.set(turn.name, contentOf(response));
      }
      for (const [name, error] of RECORDED_REFUSALS) {
        for (const [transport, refuse] of REFUSED_TURNS) {
          play(provider, { name, model: throwing(error), expected: {} });
          refused.set(`${name} on ${transport}`, await refuse(recording, bodyOf({ name }, 'scripted')));
        }
      }
    });
    service = await session.replay();
  });

  afterAll(async () => {
    await service.close();
    await session[Symbol.asyncDispose]();
  });

  describe.each(TRANSPORTS)('is replayed on $name', (transport) => {
    // From the last to the first: a turn is found by what was asked.
    it.each(RECORDED_TURNS.toReversed())('a recording is replayed as it was: $name', async (turn) => {
      const { events, response } = await transport.run(service, bodyOf(turn, 'session'));
      expect(response).toMatchObject({ ...turn.expected, model: 'session' });
      expect(contentOf(response)).toEqual(recorded.get(turn.name));
      if (events !== undefined)
        expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining([...(turn.events ?? [])]));
    });
  });

  describe.each(REFUSED_TURNS)('refuses on %s', (transport, refuse) => {
    it.each(RECORDED_REFUSALS)('a recording refuses as the model did: %s', async (name, _error, expected) => {
      const answer = await refuse(service, bodyOf({ name }, 'session'));
      expect(answer).toMatchObject(expected);
      const { error, ...rest } = answer;
      const { error: before, ...restBefore } = refused.get(`${name} on ${transport}`) ?? { error: {} };
      expect([rest, withoutWords(error)]).toEqual([restBefore, withoutWords(before)]);
    });
  });

  it('a recording holds every turn once, and first how it is to be replayed', async () => {
    const [settings, ...turns] = await session.lines();
    expect(settings).toEqual({ settings: { match: 'request', timing: 'recorded' } });
    expect(turns).toHaveLength(RECORDED_TURNS.length + RECORDED_REFUSALS.length * REFUSED_TURNS.length);
    for (const turn of turns)
      expect(turn).toEqual({
        request: {
          conversation: expect.stringMatching(/^[0-9a-f]{64}$/),
          user: expect.stringMatching(/^[0-9a-f]{64}$/),
          answers: expect.any(Number),
        },
        steps: expect.any(Array),
      });
  });

  it('a recording holds nothing that was not meant for clients', async () => {
    expect(await session.text()).not.toMatch(/secret|resp_upstream|metadata/);
  });

  it('a recording is listed as a model', async () => {
    const models = await Array.fromAsync(service.client().models.list());
    expect(models.map(({ id }) => id)).toContain('session');
  });
});
