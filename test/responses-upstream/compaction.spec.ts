import { randomBytes } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { KeyRing, Seals } from '../../src/context/seals/index.js';
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

  it('an upstream that compacts gets the trigger, and its compaction item passes through', async () => {
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

  it('an upstream that compacts gets no trigger of an earlier turn', async () => {
    const compaction = { id: upstreamId('cmp'), type: 'compaction', encrypted_content: 'theirs' };
    service.upstream.say(compaction).say(message('Done.'));
    const first = await service.api.create({ model: MODEL, input: [...INPUT, TRIGGER] });
    await service.api.create({ model: MODEL, input: 'on', previous_response_id: first.id });
    const types = service.upstream.lastCall.body.input?.map(({ type }) => type);
    expect(types).toEqual(['message', 'message', 'message', 'compaction', 'message']);
  });

  it('an upstream that compacts gets the seals of another Antiphon as they are, but none of ours that does not open', async () => {
    const seals = new KeyRing([randomBytes(32)]);
    const make = (ring: KeyRing, tenant: string, type: 'compaction' | 'reasoning'): object => {
      const encrypted_content = ring.seal(asTenant(tenant), type, '{"items":[]}');
      return { type, ...(type === 'reasoning' ? { summary: [] } : {}), encrypted_content };
    };
    const own = await service.app.get(Seals, { strict: false }).ring();
    const foreign = [make(seals, 'anybody', 'compaction'), make(seals, 'anybody', 'reasoning')];
    const user = { role: 'user', content: 'on' };
    service.upstream.say(message('Done.'));
    await service.api.create({ model: MODEL, input: [...foreign, make(own, 'other', 'reasoning'), user] });
    expect(service.upstream.lastCall.body.input).toMatchObject([...foreign, { role: 'user' }]);
    const asked = service.upstream.calls.length;
    const input = [make(own, 'other', 'compaction'), ...foreign, user];
    const { status, body } = await service.api.post('responses', { model: MODEL, input });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { code: 'invalid_encrypted_content', param: 'input[0].encrypted_content' },
    });
    expect(service.upstream.calls).toHaveLength(asked);
  });

  it('an upstream that compacts gets context_management', async () => {
    service.upstream.say(message('Done.'));
    await service.api.post('responses', { model: MODEL, input: INPUT, context_management: EARLY });
    expect(service.upstream.lastCall.body).toMatchObject({ context_management: EARLY });
  });
});

describe('an upstream without it', () => {
  const service = useService(() => startResponsesService({}));

  it('an upstream without compaction is asked for summaries instead', async () => {
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
