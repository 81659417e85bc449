import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';

const LIMITS = { BODY_MAX_VALUES: 20_000, BODY_MAX_NAMES: 5000, BODY_MAX_LEVELS: 20, INPUT_MAX_ITEMS: 100 };
const LEVELS = 'nested too deeply. Expected at most 20 levels of objects and arrays.';
const service = useService({ environment: LIMITS });

const item = { role: 'user', content: 'Hi' };
const namesFrom = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`name${index}`, 0]));
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

/** A request just beyond a limit, the same one within it, and what the client is told. */
const CASES: readonly (readonly [what: string, over: object, within: object, refusal: object])[] = [
  [
    'items',
    { input: Array.from({ length: 101 }, () => item) },
    { input: Array.from({ length: 100 }, () => item) },
    {
      status: 400,
      error: {
        code: 'array_above_max_length',
        param: 'input',
        message:
          "Invalid 'input': array too long. Expected an array with maximum length 100, but got an array with length 101 instead.",
      },
    },
  ],
  [
    'values',
    { input: 'Hi', client_metadata: { list: Array.from({ length: 20_000 }, () => 1) } },
    { input: 'Hi', client_metadata: { list: Array.from({ length: 19_900 }, () => 1) } },
    {
      status: 413,
      error: {
        code: 'request_too_large',
        param: 'client_metadata',
        message: 'The request has more than 20000 values, the most that this server accepts.',
      },
    },
  ],
  [
    'names',
    { input: 'Hi', client_metadata: namesFrom(5100) },
    { input: 'Hi', client_metadata: namesFrom(4900) },
    {
      status: 413,
      error: {
        code: 'request_too_large',
        param: 'client_metadata',
        message: 'The request has more than 5000 different names, the most that this server accepts.',
      },
    },
  ],
  [
    'members',
    { input: 'Hi', ...namesFrom(1100) },
    { input: 'Hi', ...namesFrom(900) },
    {
      status: 400,
      error: {
        code: 'object_above_max_properties',
        param: null,
        message:
          'Invalid request: too many properties. Expected an object with at most 1000 properties, but got an object with 1102 properties instead.',
      },
    },
  ],
  [
    'levels',
    { input: 'Hi', client_metadata: nested(20) },
    { input: 'Hi', client_metadata: nested(19) },
    {
      status: 400,
      error: { code: 'invalid_value', param: 'client_metadata', message: `Invalid 'client_metadata': ${LEVELS}` },
    },
  ],
];

describe.each(CASES)('too many %s', (_what, over, within, refusal) => {
  it('a request above a limit is refused over HTTP', async () => {
    const { status, body } = await service.api.post('responses', { model: 'scripted', ...over });
    expect({ status, ...body }).toMatchObject(refusal);
  });

  it('a request above a limit is refused over WebSocket, and the connection goes on', async () => {
    await using client = await SocketClient.open(service);
    client.send({ type: 'response.create', model: 'scripted', ...over });
    expect(await client.next()).toMatchObject({ type: 'error', ...refusal });
    await expect(client.turn({ model: 'scripted', ...within })).resolves.toMatchObject({
      response: { status: 'completed' },
    });
  });

  it('a request at the limit is not refused', async () => {
    expect((await service.api.post('responses', { model: 'scripted', ...within })).status).toBe(200);
  });
});
