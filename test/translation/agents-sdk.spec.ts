import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { runCodingAgent } from '../support/translation/coding-agent.js';
import { readCalls } from '../support/translation/call-groups.js';
import { functionsOf, Translation } from '../support/translation/translation.js';

const PATCH = { type: 'update_file', path: 'a.txt', diff: '@@\n-old\n+new\n' };

describe('an agent of the Agents SDK with an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start();
  });

  afterAll(() => translation.close());

  it.each(['json', 'sse', 'ws'] as const)(
    'an agent of the Agents SDK runs its own tools of every kind over %s',
    async (transport) => {
      const { upstream, service } = translation;
      const before = upstream.requests.length;
      upstream.answer({
        toolCalls: [
          { name: 'look', id: 'call_a', arguments: '{"at":"the sea"}' },
          { name: 'shell', id: 'call_b', arguments: '{"commands":["ls"]}' },
        ],
      });
      upstream.answer({ toolCalls: [{ name: 'tool_search', id: 'call_c', arguments: '{"paths":["crm"]}' }] });
      upstream.answer({
        toolCalls: [
          { name: 'crm__find', id: 'call_d', arguments: '{"name":"Ada"}' },
          { name: 'apply_patch', id: 'call_e', arguments: JSON.stringify(PATCH) },
        ],
      });
      upstream.answer({ text: 'All done.' });
      const { finalOutput, executions } = await runCodingAgent(service.client(), 'generic', transport);
      expect(finalOutput).toBe('All done.');
      expect(executions.toSorted((one, other) => one.tool.localeCompare(other.tool))).toEqual([
        { tool: 'apply_patch', values: PATCH },
        { tool: 'find', values: { name: 'Ada' } },
        { tool: 'look', values: { at: 'the sea' } },
        { tool: 'shell', values: ['ls'] },
      ]);
      const bodies = upstream.requests.slice(before).map(({ body }) => body);
      expect(bodies).toHaveLength(4);
      expect(readCalls(bodies.at(-1)?.messages ?? []).map(({ id, name, output }) => [id, name, output])).toEqual([
        ['call_a', 'look', 'look is done'],
        ['call_b', 'shell', expect.stringContaining('a.txt')],
        ['call_c', 'tool_search', expect.stringContaining('crm__find')],
        ['call_d', 'crm__find', 'find is done'],
        ['call_e', 'apply_patch', expect.stringContaining('Patched.')],
      ]);
      expect(bodies.map((body) => functionsOf(body).some(({ name }) => name === 'crm__find'))).toEqual([
        false,
        false,
        true,
        true,
      ]);
    },
  );
});
