import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { withoutIds } from '../support/normalise.js';
import { customCall, functionCall, hosted, message, reasoning } from '../support/responses-upstream/items.js';
import { MODEL, startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import type { WireResponse } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

const ITEMS = [
  reasoning(['Hm, well.'], { encrypted_content: 'sealed' }),
  hosted('web_search_call', { action: { type: 'search', query: 'x' } }),
  message('Hello there', { phase: 'commentary' }),
  functionCall('f', { a: 1 }),
  customCall('g', 'text'),
];

describe('every transport of clients before every transport of upstreams', () => {
  const services = {
    sse: useService(() => startResponsesService()),
    websocket: useService(() => startResponsesService({ entry: { supports_websockets: true } })),
  };

  it('every transport of clients gives the same Response before every transport of upstreams', async () => {
    const responses: unknown[] = [];
    for (const [transport, service] of Object.entries(services)) {
      for (const client of TRANSPORTS) {
        service.upstream.say(...ITEMS);
        const { response } = await client.run(service, { model: MODEL, input: 'Hi', prompt_cache_key: 'one' });
        expect(service.upstream.lastCall.transport).toBe(transport);
        responses.push(comparable(response));
      }
    }
    for (const response of responses) expect(response).toEqual(responses[0]);
    expect(responses[0]).toMatchObject({ status: 'completed', output: ITEMS });
  });
});

function comparable({
  created_at: _created,
  completed_at: _completed,
  output_text: _text,
  ...rest
}: WireResponse): unknown {
  return withoutIds(rest);
}
