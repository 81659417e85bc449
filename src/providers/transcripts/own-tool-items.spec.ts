import { describe, expect, it } from '@jest/globals';

import type { Item } from '../../protocol/index.js';
import { withoutOwnToolItems } from './own-tool-items.js';

/** Of ids that this service made. */
const HEX = '0199aaaabbbb7ccc8ddd000000000001';
const LONG_HEX = '0199aaaabbbb'.padEnd(52, '0');

const LIST = { type: 'mcp_list_tools', id: `mcpl_${LONG_HEX}`, server_label: 'docs', tools: [] };
const REQUEST = {
  type: 'mcp_approval_request',
  id: `mcpr_${LONG_HEX}`,
  server_label: 'docs',
  name: 'send',
  arguments: '{"to":"Ann"}',
};
const ANSWER = { type: 'mcp_approval_response', id: `item_${HEX}`, approval_request_id: REQUEST.id };
const CALL = { type: 'mcp_call', id: `mcp_${HEX}`, server_label: 'docs', name: 'send', arguments: '{"to":"Ann"}' };

const pair = (id: string, output: string): readonly object[] => [
  { id: `call:${id}`, type: 'function_call', call_id: id, name: 'docs__send', arguments: '{"to":"Ann"}' },
  { id: `output:${id}`, type: 'function_call_output', call_id: id, output },
];

describe(withoutOwnToolItems, () => {
  it.each<[string, readonly Item[], readonly object[]]>([
    ['was made', [LIST, { ...CALL, output: 'Sent.' }], pair(CALL.id, 'Sent.')],
    ['has failed', [{ ...CALL, output: null, error: 'No stamp.' }], pair(CALL.id, 'Error: No stamp.')],
    [
      'was approved',
      [LIST, REQUEST, { ...ANSWER, approve: true }, { ...CALL, approval_request_id: REQUEST.id, output: 'Sent.' }],
      pair(CALL.id, 'Sent.'),
    ],
    [
      'was denied',
      [REQUEST, { ...ANSWER, approve: false, reason: 'Too late.' }],
      pair(REQUEST.id, 'The user has denied this call. Reason: Too late.'),
    ],
    ['waits', [REQUEST], pair(REQUEST.id, 'The call was not run: nobody has approved it.')],
  ])(
    'an upstream that knows nothing of a server reads a call of it that %s as one of a function',
    (_, context, read) => {
      expect(withoutOwnToolItems(context)).toEqual(read);
    },
  );

  it.each(['web_search_call', 'file_search_call'])(
    'an upstream reads a search once, as a function call: %s',
    (type) => {
      const search = { type, id: `ws_${HEX}`, status: 'completed' };
      const call = {
        type: 'function_call',
        id: `call:${search.id}`,
        call_id: search.id,
        name: 'search',
        arguments: '{}',
      };
      expect(withoutOwnToolItems([call, search])).toEqual([call]);
      // Without what was found, as a client has it that keeps its own context.
      expect(withoutOwnToolItems([search])).toEqual([search]);
    },
  );

  it('an upstream gets back what it has run itself, and what a client has from elsewhere', () => {
    const own = [
      { ...LIST, id: 'mcpl_68af0011223344556677' },
      { ...REQUEST, id: 'mcpr_68af0011223344556677' },
      { ...ANSWER, id: 'item_68af0011223344556677', approval_request_id: 'mcpr_68af0011223344556677', approve: true },
      { ...CALL, id: 'mcp_68af0011223344556677', output: 'Sent.' },
      { type: 'web_search_call', id: 'ws_68af0011223344556677', status: 'completed' },
    ];
    expect(withoutOwnToolItems(own)).toEqual(own);
  });
});
