import { describe, expect, it } from '@jest/globals';
import { violationOf } from '../../../test/support/violation-of.js';

type Row = [object, string | null, string | null, string];

const NOTHING = `One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided.`;

const body = { model: 'm', input: 'hi' };

describe('the body as a whole', () => {
  it.each<[unknown, string]>([
    [undefined, 'nothing'],
    [null, 'null'],
    [[], 'an array'],
    ['{}', 'a string'],
    [5, 'an integer'],
    [true, 'a boolean'],
  ])('%j is refused', (value, kind) => {
    const message = `Invalid type for the request body: expected an object, but got ${kind} instead.`;
    expect(violationOf(value)).toEqual([400, 'invalid_type', null, message]);
  });
});

describe('violations come in the order of protocol §2', () => {
  it.each<Row>([
    [{}, 'missing_required_parameter', 'model', "Missing required parameter: 'model'."],
    [
      { model: null, input: 'hi' },
      'invalid_type',
      'model',
      "Invalid type for 'model': expected a string, but got an object instead.",
    ],
    [{ model: '', temperature: 9 }, 'model_not_found', 'model', "The requested model '' does not exist."],
    [{ model: 'm', bogus: 1 }, 'missing_required_parameter', 'input', "Missing required parameter: 'input'."],
    [{ model: 'm', input: null }, 'missing_required_parameter', 'input', "Missing required parameter: 'input'."],
    [
      { model: 'm', previous_response_id: 'resp_1', temperature: 9 },
      'missing_required_parameter',
      'input',
      "Missing required parameter: 'input'.",
    ],
    [{ ...body, temperature: 9, bogus: 1 }, 'unknown_parameter', 'bogus', "Unknown parameter: 'bogus'."],
    [
      { ...body, temperature: 9, input: 5 },
      'invalid_type',
      'input',
      "Invalid type for 'input': expected one of a string or array of input items, but got an integer instead.",
    ],
    [
      { ...body, top_logprobs: 21, temperature: 2.5, moderation: { model: 'omni' } },
      'decimal_above_max_value',
      'temperature',
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
    ],
    [
      { ...body, input: '', conversation: 'conv_1', previous_response_id: 'resp_1' },
      'mutually_exclusive_parameters',
      null,
      "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
    ],
    [
      { ...body, input: [], moderation: { model: 'omni' } },
      'unsupported_parameter',
      'moderation',
      "Unsupported parameter: 'moderation' is not supported by this server.",
    ],
    [{ ...body, input: '', tool_choice: { type: 'shell' } }, 'missing_required_parameter', null, NOTHING],
    [{ ...body, input: [] }, 'missing_required_parameter', null, NOTHING],
  ])('the first violation in the order of protocol §2 is reported: %j', (request, code, param, message) => {
    expect(violationOf(request, 'reject')).toEqual([400, code, param, message]);
  });
});

describe('a conversation stands in, as a previous response does, for', () => {
  const { input: _, ...withoutInput } = body;

  it.each<[what: string, request: object]>([
    ['an input', withoutInput],
    ['something to answer', { ...body, input: [] }],
    ['the tools of a choice', { ...body, tool_choice: { type: 'function', name: 'look' } }],
    ['any tools', { ...body, tool_choice: 'required' }],
    ['the mention of JSON', { ...body, text: { format: { type: 'json_object' } } }],
  ])('a conversation stands in, as a previous response does, for %s', (_what, request) => {
    expect(violationOf(request)).not.toBeNull();
    expect(violationOf({ ...request, conversation: 'conv_1' })).toBeNull();
    expect(violationOf({ ...request, conversation: { id: 'conv_1' } })).toBeNull();
    expect(violationOf({ ...request, conversation: null })).not.toBeNull();
  });
});

describe('unknown parameters', () => {
  const known = { ...body, client_metadata: { session_id: 's' } };

  it.each<Row>([
    [{ sotre: true }, 'unknown_parameter', 'sotre', "Unknown parameter: 'sotre'. Did you mean 'store'?"],
    [{ sotre: true, store: true }, 'unknown_parameter', 'sotre', "Unknown parameter: 'sotre'."],
    [{ stream_id: 'a' }, 'unknown_parameter', 'stream_id', "Unknown parameter: 'stream_id'."],
    [{ generate: false }, 'unknown_parameter', 'generate', "Unknown parameter: 'generate'."],
    [{ type: 'response.create' }, 'unknown_parameter', 'type', "Unknown parameter: 'type'."],
    [JSON.parse('{"__proto__":1}') as object, 'unknown_parameter', '__proto__', "Unknown parameter: '__proto__'."],
    [
      { messages: [] },
      'unsupported_parameter',
      null,
      "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
    ],
    [
      { stream_options: { include_usage: true } },
      'unknown_parameter',
      'stream_options.include_usage',
      "Unknown parameter: 'stream_options.include_usage'.",
    ],
    [
      { input: [{ role: 'user', content: '', bogus: 1 }] },
      'unknown_parameter',
      'input[0].bogus',
      "Unknown parameter: 'input[0].bogus'.",
    ],
  ])('%j is an error only when they are rejected', (members, code, param, message) => {
    const request: unknown = JSON.parse(JSON.stringify(known).slice(0, -1) + ',' + JSON.stringify(members).slice(1));
    expect(violationOf(request, 'reject')).toEqual([400, code, param, message]);
    expect(violationOf(request, 'ignore')).toBeNull();
  });

  it('client_metadata is known, members of calls are not looked at', () => {
    const input = [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', bogus: 1 }];
    expect(violationOf({ ...known, input }, 'reject')).toBeNull();
  });
});

describe('features that are not built yet', () => {
  it.each<[object, string]>([
    [{ moderation: { model: 'omni' } }, 'moderation'],
    [{ prompt_cache_options: { prewarm: true } }, 'prompt_cache_options.prewarm'],
  ])('%j is unsupported', (members, param) => {
    const message = `Unsupported parameter: '${param}' is not supported by this server.`;
    expect(violationOf({ ...body, ...members })).toEqual([400, 'unsupported_parameter', param, message]);
  });

  it.each([
    { conversation: null, prompt: null, context_management: null, moderation: null },
    { prompt_cache_options: { prewarm: false, mode: 'explicit', ttl: '12h' } },
  ])('%j is not their use', (members) => {
    expect(violationOf({ ...body, ...members })).toBeNull();
  });
});
