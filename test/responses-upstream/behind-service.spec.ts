import { describe, expect, it } from '@jest/globals';

import { ModelError, type ModelEvent } from '../../src/index.js';
import { type Script, ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { withoutIds } from '../support/normalise.js';
import { startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { SocketClient } from '../support/socket-client.js';
import type { TurnResult, WireResponse } from '../support/transport.js';
import { SSE_TRANSPORT } from '../support/transports.js';
import { ANSWERS, TYPES, UNREACHABLE, USAGE } from './inner-answers.js';

const OK: readonly ModelEvent[] = [
  { type: 'text', delta: 'ok' },
  { type: 'finish', reason: 'stop' },
];

const TURN = { model: 'm', input: 'Go on.' };

describe('every event type of protocol §4', () => {
  it('every event type is in one of the answers below, or cannot be', () => {
    const said = new Set([...ANSWERS.flatMap(([, , types]) => types), ...Object.keys(UNREACHABLE)]);
    expect(TYPES.filter((type) => !said.has(type))).toEqual([]);
  });
});

const inner = useService({ providers: [ScriptedProvider] });

describe.each([
  ['SSE', {}],
  ['WebSocket', { supports_websockets: true }],
] as const)('a service behind a service, over %s', (_, entry) => {
  const outer = useService(() =>
    startResponsesService({
      entry: { ...entry, base_url: inner.baseURL, stream_max_retries: 0 },
      models: [{ name: 'm', provider: 'upstream' }],
    }),
  );

  const say = (model: readonly ModelEvent[] | Script): void => {
    if (typeof model === 'function') inner.provider.play(model);
    else inner.provider.reply(...model, USAGE);
  };

  it.each(ANSWERS)(
    'a service behind a service gives the same Response and the same events: %s',
    async (__, model, types) => {
      say(model);
      const direct = await SSE_TRANSPORT.run(inner, TURN);
      say(model);
      const relayed = await SSE_TRANSPORT.run(outer, TURN);
      expect(comparable(relayed.response)).toEqual(comparable(direct.response));
      expect(eventsOf(relayed)).toEqual(eventsOf(direct));
      expect((relayed.events ?? []).map(({ type }) => type)).toEqual(expect.arrayContaining([...types]));
    },
  );

  it.each(ANSWERS)('a service behind a service gives the same Response to a socket: %s', async (__, model) => {
    const results: unknown[] = [];
    for (const service of [inner, outer]) {
      say(model);
      await using client = await SocketClient.open(service);
      results.push(comparable((await client.turn(TURN)).response));
    }
    expect(results[1]).toEqual(results[0]);
  });

  it('a service behind a service gives the same refusals', async () => {
    for (const code of ['usage_not_included', 'context_length_exceeded', 'invalid_prompt']) {
      const answers: unknown[] = [];
      for (const service of [inner, outer]) {
        inner.provider.otherwise(async function* () {
          throw new ModelError(code, `About ${code}.`, {
            status: code.startsWith('usage') ? 429 : 400,
            param: 'input',
          });
        });
        const { status, body } = await service.api.post('responses', TURN);
        answers.push({ status, body });
      }
      expect(answers[1]).toEqual(answers[0]);
    }
    inner.provider.otherwise(async function* () {
      yield OK;
    });
  });

  it('a service behind a service goes on with a conversation, of which the inner model sees all', async () => {
    const turns = inner.provider.turns.length;
    let parent: string | undefined;
    for (const input of ['One', 'Two', 'Three']) {
      const body = { ...TURN, input, ...(parent === undefined ? {} : { previous_response_id: parent }) };
      parent = (await SSE_TRANSPORT.run(outer, body)).response.id;
    }
    const seen = inner.provider.turns.slice(turns).map(({ context }) => context.length);
    expect(seen).toEqual([1, 3, 5]);
  });
});

function comparable({ id: _id, created_at: _created, completed_at: _completed, ...rest }: WireResponse): unknown {
  return withoutIds(rest);
}

/** Events without what no two responses share. */
function eventsOf({ events = [] }: TurnResult): unknown {
  const plain = events.map(({ response: _response, obfuscation: _padding, ...event }: WireEvent) => event);
  return withoutIds(plain);
}
