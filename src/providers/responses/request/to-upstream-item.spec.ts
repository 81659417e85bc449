import { describe, expect, it } from '@jest/globals';

import type { Item } from '../../../protocol/index.js';
import type { ResponsesEntry } from '../../routing/index.js';
import { upstreamOptions, upstreamTurn } from '../../../../test/support/upstream-turn.js';
import { conversationOf } from './conversation.js';
import { toHttpBody, toRequest } from './to-request.js';

/** Of an id that this service made. */
const HEX = '0199aaaabbbb7ccc8ddd000000000001';
/** Of an id that another server made, such as vLLM. */
const FOREIGN_HEX = '0199aaaabbbb4ccc8ddd000000000001';

/** An item as it is sent; undefined if it is not. */
function sent(item: Item, entry: Partial<ResponsesEntry> = {}): unknown {
  const turn = upstreamTurn({ context: [item] });
  const body = toHttpBody(toRequest(turn, conversationOf(turn), upstreamOptions(entry)), null);
  return (JSON.parse(body) as { readonly input: readonly unknown[] }).input[0];
}

describe('items of a request', () => {
  it.each<readonly [what: string, id: string, expected: string | undefined]>([
    [
      'an id of the upstream',
      'msg_68af00112233445566778899aabbccddeeff00112233445566',
      'msg_68af00112233445566778899aabbccddeeff00112233445566',
    ],
    ['the upstream id within an id made here', `msg_${HEX}_msg_1`, 'msg_1'],
    ['an id that another server made of 32 digits', `fc_${FOREIGN_HEX}`, `fc_${FOREIGN_HEX}`],
    ['no id that was made here', `fc_${HEX}`, undefined],
    ['no id that is none of the API', 'abc', undefined],
  ])('the items of a request have %s', (_, id, expected) => {
    expect(sent({ type: 'function_call', id, call_id: 'c', name: 'f', arguments: '{}' })).toEqual({
      ...(expected === undefined ? {} : { id: expected }),
      type: 'function_call',
      call_id: 'c',
      name: 'f',
      arguments: '{}',
    });
  });

  it.each(['user', 'assistant'])('items of messages by %s lose the status that this service adds', (role) => {
    const message = { type: 'message', role, content: [] };
    expect(sent({ ...message, id: `msg_${HEX}`, status: 'completed' })).toEqual(message);
    const replayed = { ...message, id: 'msg_0199aaaa-0000-7000', status: 'completed' };
    expect(sent(replayed)).toEqual(replayed);
    const incomplete = { ...message, id: `msg_${HEX}`, status: 'incomplete' };
    expect(sent(incomplete)).toEqual({ ...message, status: 'incomplete' });
  });

  it('items of unknown types are unchanged', () => {
    const item = {
      type: 'hologram_call',
      id: 'holo_0123456789abcdef',
      status: 'completed',
      shape: { edges: [1, null] },
    };
    expect(sent(item)).toEqual(item);
  });

  it.each<readonly [what: string, members: object, isSent: boolean]>([
    ['encrypted_content', { encrypted_content: 'gAAAA' }, true],
    ['its text', { content: [{ type: 'reasoning_text', text: 'I look.' }] }, true],
    ['null for both', { content: null, encrypted_content: null }, false],
    ['a summary only', {}, false],
    ['empty ones', { content: [], encrypted_content: '' }, false],
  ])('items of reasoning with %s', (_, members, isSent) => {
    const item = { type: 'reasoning', id: 'rs_0123456789abcdef', summary: [], ...members };
    expect(sent(item)).toEqual(isSent ? item : undefined);
    expect(sent(item, { passthrough: 'store' })).toEqual(item);
  });

  it.each([
    ['mcpr_0123456789abcdef01', 'mcpr_0123456789abcdef01'],
    [`mcpr_${HEX}_mcpr_1`, 'mcpr_1'],
    [`mcpr_${HEX}`, `mcpr_${HEX}`],
    ['approval', 'approval'],
  ])('items name the request that they approve, and are named, by its id at the upstream: %s', (id, theirs) => {
    const asked = { type: 'mcp_approval_request', name: 'f', arguments: '{}', server_label: 's' };
    expect(sent({ ...asked, id })).toEqual({ ...asked, id: theirs });
    for (const type of ['mcp_approval_response', 'mcp_call']) {
      const named = { type, approval_request_id: id, approve: true };
      expect(sent({ ...named, id: `item_${HEX}` })).toEqual({ ...named, approval_request_id: theirs });
    }
  });

  it.each([null, undefined])('an MCP call has no request to name: %s', (approval_request_id) => {
    expect(sent({ type: 'mcp_call', id: 'mcp_0123456789abcdef', approval_request_id })).toEqual({
      type: 'mcp_call',
      id: 'mcp_0123456789abcdef',
      ...(approval_request_id === null ? { approval_request_id } : {}),
    });
  });

  it.each(['call_1', 'abc', `call_${HEX}`])('items keep the id of the call that an output has as its own: %s', (id) => {
    const output = { type: 'local_shell_call_output', id, output: '{}' };
    expect(sent(output)).toEqual(output);
  });

  it('items keep the id of reasoning of another server', () => {
    const reasoning = { type: 'reasoning', id: `rs_${FOREIGN_HEX}`, summary: [], encrypted_content: 'gAAAA' };
    expect(sent(reasoning)).toEqual(reasoning);
    const { id: _, ...unnamed } = reasoning;
    expect(sent({ ...reasoning, id: `rs_${HEX}` })).toEqual(unnamed);
  });
});
