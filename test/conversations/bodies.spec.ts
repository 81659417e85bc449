import { beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';

const MESSAGE = { role: 'user', content: 'Hi' };
const MANY = Array.from({ length: 21 }, () => MESSAGE);
const TOO_MANY =
  "Invalid 'items': array too long. Expected an array with maximum length 20, but got an array with length 21 instead.";
const TWICE = [
  { ...MESSAGE, id: 'msg_1' },
  { ...MESSAGE, id: 'msg_1' },
];
const DUPLICATE = 'Duplicate item found with id msg_1. Remove duplicate items from your input and try again.';
const TRIGGER =
  "Items of type 'compaction_trigger' cannot be added to a conversation. Send it as the input of a response.";

type Row = [body: unknown, code: string | null, param: string | null, message: string];

/** What is wrong with `items`, wherever they are. */
const ITEMS: readonly Row[] = [
  [
    { items: 'Hi' },
    'invalid_type',
    'items',
    "Invalid type for 'items': expected an array of input items, but got a string instead.",
  ],
  [{ items: MANY }, 'array_above_max_length', 'items', TOO_MANY],
  [
    { items: [{ role: 'user' }] },
    'missing_required_parameter',
    'items[0].content',
    "Missing required parameter: 'items[0].content'.",
  ],
  [
    { items: [MESSAGE, { type: 'function_call_output', call_id: 'call_1' }] },
    'missing_required_parameter',
    'items[1].output',
    "Missing required parameter: 'items[1].output'.",
  ],
  // The words and the place of `input` in POST /responses.
  [
    { items: [{ role: 'robot', content: 'Hi' }] },
    'invalid_value',
    'items[0]',
    "Invalid value: 'robot'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
  ],
  [{ items: [MESSAGE, { type: 'compaction_trigger' }] }, 'invalid_value', 'items[1]', TRIGGER],
  [{ items: TWICE }, null, 'items', DUPLICATE],
  [{ itmes: [], items: [] }, 'unknown_parameter', 'itmes', "Unknown parameter: 'itmes'."],
];
const METADATA: Row = [
  { metadata: { a: 1 } },
  'invalid_type',
  'metadata.a',
  "Invalid type for 'metadata.a': expected a string, but got an integer instead.",
];
const NO_BODY: Row = [
  [],
  'invalid_type',
  null,
  'Invalid type for the request body: expected an object, but got an array instead.',
];

describe('the body of', () => {
  const service = useService({ providers: [ScriptedProvider] });
  let path: string;

  beforeAll(async () => {
    path = `conversations/${(await service.client().conversations.create()).id}`;
  });

  const refusal = (code: string | null, param: string | null, message: string): object => ({
    status: 400,
    body: { error: { type: 'invalid_request_error', code, param, message } },
  });

  it.each<Row>([...ITEMS, METADATA, NO_BODY])(
    'the creation of a conversation refuses the body %j',
    async (body, code, param, message) => {
      expect(await service.api.post('conversations', body)).toMatchObject(refusal(code, param, message));
    },
  );

  it.each<Row>([
    METADATA,
    NO_BODY,
    [{}, 'missing_required_parameter', 'metadata', "Missing required parameter: 'metadata'."],
  ])('a change of a conversation refuses the body %j', async (body, code, param, message) => {
    expect(await service.api.post(path, body)).toMatchObject(refusal(code, param, message));
  });

  it.each<Row>([
    ...ITEMS,
    NO_BODY,
    [{}, 'missing_required_parameter', 'items', "Missing required parameter: 'items'."],
    [
      { items: null },
      'invalid_type',
      'items',
      "Invalid type for 'items': expected an array of input items, but got an object instead.",
    ],
  ])('the body of new items is refused: %j', async (body, code, param, message) => {
    expect(await service.api.post(`${path}/items`, body)).toMatchObject(refusal(code, param, message));
    expect(await service.api.idsOf(`${path}/items`)).toEqual([]);
  });

  it('new items are refused with an id that is there already', async () => {
    const { id } = await service.client().conversations.create({ items: [TWICE[0] as never] });
    const answer = await service.api.post(`conversations/${id}/items`, { items: [MESSAGE, TWICE[1]] });
    expect(answer).toMatchObject(refusal(null, 'items', DUPLICATE));
    expect(await service.api.idsOf(`conversations/${id}/items`)).toEqual(['msg_1']);
  });

  it('new items are refused with a reference to nothing', async () => {
    const items = [{ type: 'item_reference', id: 'msg_gone' }];
    const error = { type: 'invalid_request_error', code: null, param: 'items' };
    for (const target of ['conversations', `${path}/items`]) {
      expect(await service.api.post(target, { items })).toMatchObject({ status: 404, body: { error } });
    }
  });

  it.each<[query: string, param: string]>([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['order=up', 'order'],
    ['after=', 'after'],
    ['after=msg_unknown', 'after'],
    ['include[]=everything', 'include[0]'],
  ])('the list of the items of a conversation refuses the query %s', async (query, param) => {
    const answer = await service.api.get(`${path}/items?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it('routes of items that take no list refuse an unknown include', async () => {
    const refused = { status: 400, body: { error: { param: 'include[0]' } } };
    expect(await service.api.post(`${path}/items?include[]=x`, { items: [] })).toMatchObject(refused);
    expect(await service.api.get(`${path}/items/msg_1?include[]=x`)).toMatchObject(refused);
  });

  it.each([
    ['PUT', '', 'GET, HEAD, POST, DELETE'],
    ['DELETE', '/items', 'GET, HEAD, POST'],
    ['POST', '/items/msg_1', 'GET, HEAD, DELETE'],
  ])('the routes of conversations refuse the method %s', async (method, rest, allowed) => {
    const answer = await fetch(`${service.baseURL}/${path}${rest}`, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed]);
  });
});
