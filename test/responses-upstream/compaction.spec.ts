import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { EARLY, longText, TRIGGER } from '../support/compaction.js';
import { message, upstreamId } from '../support/responses-upstream/items.js';
import { MODEL, startResponsesService } from '../support/responses-upstream/start-responses-service.js';

const INPUT = [
  { role: 'user', content: longText('first', 1500) },
  { role: 'assistant', content: 'answer' },
  { role: 'user', content: 'second' },
];

describe('an upstream with compaction: upstream', () => {
  const service = useService(() => startResponsesService({ entry: { compaction: 'upstream' } }));

  it('gets the trigger, and its compaction item passes through', async () => {
    const compaction = { id: upstreamId('cmp'), type: 'compaction', encrypted_content: 'theirs' };
    service.upstream.say(compaction).say(message('Done.'));
    const { body } = await service.api.post('responses', { model: MODEL, input: [...INPUT, TRIGGER], store: false });
    expect(body).toMatchObject({ output: [{ type: 'compaction', encrypted_content: 'theirs' }] });
    expect(service.upstream.lastCall.body.input?.at(-1)).toMatchObject(TRIGGER);
    const next = [...(body['output'] as readonly object[]), { role: 'user', content: 'on' }];
    await service.api.post('responses', { model: MODEL, input: next });
    expect(service.upstream.lastCall.body.input?.[0]).toMatchObject({
      type: 'compaction',
      encrypted_content: 'theirs',
    });
  });

  it('gets context_management', async () => {
    service.upstream.say(message('Done.'));
    await service.api.post('responses', { model: MODEL, input: INPUT, context_management: EARLY });
    expect(service.upstream.lastCall.body).toMatchObject({ context_management: EARLY });
  });
});

describe('an upstream without it', () => {
  const service = useService(() => startResponsesService({}));

  it('is asked for summaries instead', async () => {
    service.upstream.say(message('SUMMARY')).say(message('Done.'));
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
    const request = { model: MODEL, input: INPUT, context_management: EARLY, tools };
    const { body } = await service.api.post('responses', request);
    expect(body).toMatchObject({ output: [{ type: 'compaction' }, { type: 'message' }] });
    const [summary, answer] = service.upstream.calls.map((call) => call.body);
    expect(summary).toMatchObject({ tool_choice: 'none', tools: [{ name: 'f' }], store: false });
    expect(summary).not.toHaveProperty('context_management');
    expect(answer).not.toHaveProperty('context_management');
    expect(JSON.stringify(answer?.input)).toContain('SUMMARY');
    expect(answer?.input?.map(({ role }) => role)).toEqual(['assistant', 'user']);
  });
});
