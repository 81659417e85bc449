import { expect, it } from '@jest/globals';

import { FAULT_KINDS } from '../../src/simulator/names.js';
import { ServiceLog } from '../support/service-log.js';
import { describeService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { postJson } from '../support/sse.js';
import { askFor, BREAKS, deltasOf, REFUSALS, REFUSALS_BY_TRANSPORT, STREAMING } from '../support/simulator-requests.js';
import { SSE_TRANSPORT, TRANSPORTS, WS_TRANSPORT } from '../support/transports.js';

const FAILURES_BY_TRANSPORT = [...REFUSALS.map(({ kind, code }) => ({ kind, code })), ...BREAKS.map(failing)].flatMap(
  (fault) => TRANSPORTS.map((transport) => ({ ...fault, name: transport.name, transport })),
);

function failing(kind: string): { readonly kind: string; readonly code: string } {
  return { kind, code: 'server_error' };
}

describeService('a fault that a request asks for', { environment: { SIMULATOR_CONTROL: true } }, (service) => {
  const textOf = async (): Promise<string> => {
    const { response } = await WS_TRANSPORT.run(service, askFor(''));
    return JSON.stringify(response['output']);
  };

  it.each(REFUSALS_BY_TRANSPORT)(
    'a fault that a request asks for refuses the turn on $transport: $kind',
    async (fault) => {
      const refused = await fault.refuse(service, askFor(`fault=${fault.kind}; retry_after=7`));
      const code = fault.transport === 'ws' && fault.code === 'server_error' ? 'processing_error' : fault.code;
      expect(refused).toEqual({
        status: fault.status,
        retryAfter: '7',
        error: { type: fault.type, code, param: null, message: expect.stringContaining(fault.words) },
      });
      expect(refused.error['message']).toMatch(/gpt-4\.1.* Please try again in 7s\.$/);
    },
  );

  it.each(REFUSALS)('a fault says itself how long to wait: $kind', async ({ kind }) => {
    const waits = new Set<string | null>();
    for (let turn = 0; turn < 12; turn += 1) {
      const { headers, body } = await postJson(`${service.baseURL}/responses`, askFor(`fault=${kind}`));
      const wait = headers.get('retry-after');
      expect(wait).toMatch(/^[1-5]$/);
      expect(body).toMatchObject({
        error: { message: expect.stringMatching(`Please try again in ${String(wait)}s\\.$`) },
      });
      waits.add(wait);
    }
    expect(waits.size).toBeGreaterThan(1);
  });

  it('a fault is asked for in a header as well', async () => {
    const url = `${service.baseURL}/responses`;
    const headers = { 'x-simulate': 'fault=rate_limit; retry_after=0' };
    const answer = await postJson(url, { model: 'gpt-4.1', input: 'Hi' }, { headers });
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('0');
  });

  it('a fault that a request asks for names a model whatever its name looks like', async () => {
    const { body } = await postJson(
      `${service.baseURL}/responses`,
      askFor('fault=rate_limit', { model: "my-$&-$'-$$" }),
    );
    expect(body).toMatchObject({ error: { message: expect.stringContaining("my-$&-$'-$$") } });
  });

  it.each(FAILURES_BY_TRANSPORT)(
    'a fault that a request asks for fails the response after three deltas on $name: $kind',
    async (fault) => {
      const { events, response } = await fault.transport.run(service, askFor(`fault=${fault.kind}; after=3`));
      expect(response).toMatchObject({
        status: 'failed',
        error: { code: fault.code },
        output: [{ status: 'incomplete' }],
      });
      if (events !== undefined) {
        expect(deltasOf(events)).toHaveLength(3);
        expect(events.at(-1)?.type).toBe('response.failed');
      }
      const [
        {
          content: [part],
        },
      ] = response['output'] as [{ content: [{ text: string }] }];
      expect(part.text).toMatch(/^\w+[\s\w,.]+$/);
      expect(await textOf()).toContain(part.text);
    },
  );

  it.each(FAILURES_BY_TRANSPORT)(
    'a fault that a request asks for keeps the failed response, not to go on from, on $name: $kind',
    async (fault) => {
      const { response } = await fault.transport.run(service, askFor(`fault=${fault.kind}; after=3`));
      const stored = await fetch(`${service.baseURL}/responses/${response.id}`);
      expect(await stored.json()).toMatchObject({ id: response.id, status: 'failed', error: { code: fault.code } });
      const next = await postJson(`${service.baseURL}/responses`, askFor('', { previous_response_id: response.id }));
      expect(next).toMatchObject({ status: 400, body: { error: { code: 'previous_response_not_found' } } });
    },
  );

  it.each(REFUSALS)(
    'a fault that a request asks for tells the wait in the words of a response that fails: $kind',
    async ({ kind, code }) => {
      const { response } = await SSE_TRANSPORT.run(service, askFor(`fault=${kind}; after=1; retry_after=3`));
      const message: unknown = expect.stringMatching(/ Please try again in 3s\.$/);
      expect(response).toMatchObject({ error: { code, message } });
    },
  );

  it.each(FAILURES_BY_TRANSPORT)(
    'a fault that a request asks for comes with the end of an answer that is shorter on $name: $kind',
    async (fault) => {
      const { events, response } = await fault.transport.run(service, askFor(`fault=${fault.kind}; after=100000`));
      expect(response).toMatchObject({ status: 'failed', error: { code: fault.code } });
      if (events !== undefined) expect(deltasOf(events).length).toBeGreaterThan(10);
      const whole = JSON.parse(await textOf()) as [{ content: [{ text: string }] }];
      expect(response['output']).toMatchObject([{ content: [{ text: whole[0].content[0].text }] }]);
    },
  );

  it.each(STREAMING)(
    'a fault that a request asks for counts deltas of reasoning and of calls as well on $name',
    async (transport) => {
      const thought = await transport.run(
        service,
        askFor('fault=rate_limit; after=2', { model: 'o3', reasoning: { effort: 'high', summary: 'detailed' } }),
      );
      expect(deltasOf(thought.events).map(({ type }) => type)).toEqual(
        Array(2).fill('response.reasoning_summary_text.delta'),
      );
      const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
      const tools = [{ type: 'function', name: 'look', parameters, strict: false }];
      const called = await transport.run(
        service,
        askFor('fault=malformed; after=2', { tools, tool_choice: 'required' }),
      );
      expect(deltasOf(called.events).map(({ type }) => type)).toEqual(
        Array(2).fill('response.function_call_arguments.delta'),
      );
      expect(called.response).toMatchObject({ status: 'failed', output: [{ status: 'incomplete' }] });
    },
  );

  it.each(TRANSPORTS)(
    'a fault that a request asks for shows nothing of what the model should not have said on $name',
    async (transport) => {
      using log = ServiceLog.begin();
      const { events, response } = await transport.run(service, askFor('fault=malformed; after=20'));
      expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
      expect(JSON.stringify([events, response])).not.toMatch(/contract|TypeError|delta must|simulator|\bat \w+ \(/i);
      // In the text: ids may hold any digits.
      expect(JSON.stringify(response['output'])).not.toMatch(/"text":"[^"]*42/);
      expect(log.complaints).toHaveLength(1);
    },
  );

  it('a fault that a request asks for is refused by name when there is none like it', async () => {
    const { status, body } = await postJson(`${service.baseURL}/responses`, askFor('fault=gremlins'));
    const message: unknown = expect.stringContaining(FAULT_KINDS.join(', '));
    expect([status, body]).toMatchObject([400, { error: { code: 'invalid_value', param: 'x-simulate', message } }]);
  });

  it('a fault that a request asks for is not there without SIMULATOR_CONTROL', async () => {
    await using closed = await startService();
    for (const transport of TRANSPORTS) {
      const { response } = await transport.run(closed, askFor('fault=rate_limit'));
      expect(response.status).toBe('completed');
    }
  });
});
