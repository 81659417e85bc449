import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../../src/protocol/index.js';
import { validateCreateRequest, validateItemsQuery, validateRetrieveQuery } from '../../src/responses/dto/index.js';

const TRAPS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'];
const TYPES = [
  ...['message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'reasoning'],
  ...['compaction', 'additional_tools', 'item_reference', 'compaction_trigger', 'input_text', 'output_text', 'refusal'],
  ...['function', 'custom', 'namespace', 'mcp', 'file_search', 'allowed_tools', 'json_schema', 'text', ...TRAPS],
];
const MEMBERS = [
  ...['type', 'id', 'role', 'content', 'status', 'text', 'format', 'schema', 'name', 'tools', 'call_id', 'arguments'],
  ...['output', 'summary', 'encrypted_content', 'mode', 'effort', 'prewarm', 'server_label', 'parameters', ...TRAPS],
];
const FIELDS = [
  ...[
    'model',
    'input',
    'include',
    'tools',
    'metadata',
    'text',
    'temperature',
    'tool_choice',
    'stream_options',
    'prompt',
  ],
  ...['reasoning', 'prompt_cache_options', 'previous_response_id', 'conversation', 'context_management', ...TRAPS],
];

/** JSON values that look like parts of a request often enough to get past the first checks. */
const { likely } = fc.letrec((tie) => ({
  word: fc.constantFrom(...TYPES, 'user', 'assistant', 'resp_1', 'auto', ''),
  object: fc.dictionary(fc.constantFrom(...MEMBERS), tie('likely'), { maxKeys: 6 }),
  likely: fc.oneof(
    { maxDepth: 5 },
    tie('word'),
    fc.jsonValue({ maxDepth: 2 }),
    tie('object'),
    fc.array(tie('object'), { maxLength: 4 }),
  ),
}));
const body = fc
  .tuple(fc.dictionary(fc.constantFrom(...FIELDS), likely, { maxKeys: 8 }), fc.boolean())
  .map(([fields, isUsual]) => (isUsual ? { model: 'm', input: 'hi', ...fields } : fields));
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function throwsOnlyBadRequests(call: () => unknown): void {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).status).toBe(400);
    expect((error as ApiError).message).not.toMatch(/undefined|\[object|native code/);
  }
}

describe('any JSON whatever', () => {
  it.each(['ignore', 'reject'] as const)(
    'any JSON is refused with 400 or accepted as it is (%s)',
    (unknownParameters) => {
      fc.assert(
        fc.property(fc.oneof(fc.jsonValue(), likely, body), (value) => {
          const received = asJson(value);
          throwsOnlyBadRequests(() => {
            expect(validateCreateRequest(received, { unknownParameters })).toBe(received);
          });
          expect(received).toEqual(asJson(value));
        }),
        { numRuns: 1000 },
      );
    },
  );

  it('any JSON is refused with 400 or understood as a query', () => {
    const names = [
      'limit',
      'order',
      'after',
      'include',
      'include[]',
      'stream',
      'starting_after',
      'include_obfuscation',
    ];
    const value = fc.oneof(fc.string(), fc.array(fc.string()), fc.constantFrom('1', 'true', 'asc'), fc.jsonValue());
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names, ...TRAPS), value), (query) => {
        throwsOnlyBadRequests(() => validateItemsQuery(query));
        throwsOnlyBadRequests(() => validateRetrieveQuery(query));
      }),
    );
  });
});
