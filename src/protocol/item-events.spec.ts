import { describe, expect, it } from '@jest/globals';

import { isEventOf, isProtocolEvent } from './item-events.js';

describe(isEventOf, () => {
  it.each([
    ['web_search_call', 'response.web_search_call.searching', {}],
    ['mcp_call', 'response.mcp_call_arguments.delta', { delta: '{' }],
    ['shell_call_output', 'response.shell_call_output_content.delta', { command_index: 0, delta: { stdout: 'x' } }],
    ['compaction', 'response.compaction.compacting', {}],
  ])('isEventOf is true for an event of %s', (itemType, eventType, event) => {
    expect(isEventOf(itemType, eventType, event)).toBe(true);
  });

  it.each([
    ['an event of another item', 'web_search_call', 'response.file_search_call.searching', {}],
    ['an event without a member that SDKs need', 'mcp_call', 'response.mcp_call_arguments.delta', {}],
    ['a member of another type', 'mcp_call', 'response.mcp_call_arguments.delta', { delta: null }],
    ['an item of an unknown type', 'hologram_call', 'response.hologram_call.beaming', {}],
    ['an item with events of its own', 'message', 'response.output_text.delta', { delta: 'x' }],
  ])('isEventOf is false for %s', (_, itemType, eventType, event) => {
    expect(isEventOf(itemType, eventType, event)).toBe(false);
  });
});

describe(isProtocolEvent, () => {
  it.each(['response.created', 'response.output_text.done', 'response.mcp_call.failed', 'error', 'keepalive'])(
    'isProtocolEvent is true for %s',
    (type) => {
      expect(isProtocolEvent(type)).toBe(true);
    },
  );

  it.each(['codex.rate_limits', 'response.audio.delta', 'constructor'])('isProtocolEvent is false for %s', (type) => {
    expect(isProtocolEvent(type)).toBe(false);
  });
});
