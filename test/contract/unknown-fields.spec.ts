import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { useFreshService, useService } from '../support/describe-service.js';
import { postJson } from '../support/sse.js';
import { TRANSPORTS } from '../support/transports.js';

const REQUEST = { model: 'm', input: 'Hi' };

describe.each(TRANSPORTS)('unknown fields, by default, on $name', (transport) => {
  const service = useService({ providers: [ScriptedProvider] });
  const run = (members: object): ReturnType<typeof transport.run> => transport.run(service, { ...REQUEST, ...members });

  it.each<[name: string, value: unknown, message: string]>([
    ['temprature', 1, "Unknown parameter: 'temprature'. Did you mean 'temperature'?"],
    ['max_output_token', 64, "Unknown parameter: 'max_output_token'. Did you mean 'max_output_tokens'?"],
    ['sotre', false, "Unknown parameter: 'sotre'. Did you mean 'store'?"],
    ['mode', 'm', "Unknown parameter: 'mode'."],
    ['previous_respones_id', 'r', "Unknown parameter: 'previous_respones_id'. Did you mean 'previous_response_id'?"],
  ])('the service refuses the misspelt %s', async (param, value, message) => {
    await expect(run({ [param]: value })).rejects.toMatchObject({
      status: 400,
      body: { error: { code: 'unknown_parameter', param, message } },
    });
  });

  it.each<[param: string, members: object, suggestion: string]>([
    ['reasoning.efort', { reasoning: { efort: 'low' } }, 'effort'],
    ['text.fromat', { text: { fromat: { type: 'text' } } }, 'format'],
    ['stream_options.include_obfuscaton', { stream_options: { include_obfuscaton: true } }, 'include_obfuscation'],
    ['input[0].contents', { input: [{ role: 'user', content: 'Hi', contents: '' }] }, ''],
  ])('the service refuses the misspelt %s', async (param, members, suggestion) => {
    const tail = suggestion === '' ? '' : ` Did you mean '${suggestion}'?`;
    const message = `Unknown parameter: '${param}'.${tail}`;
    await expect(run(members)).rejects.toMatchObject({
      status: 400,
      body: { error: { code: 'unknown_parameter', param, message } },
    });
  });

  it.each<[name: string, value: unknown, replacement: string]>([
    ['messages', [], 'input'],
    ['max_tokens', 64, 'max_output_tokens'],
    ['max_completion_tokens', 64, 'max_output_tokens'],
    ['response_format', { type: 'json_object' }, 'text.format'],
    ['functions', [], 'tools'],
    ['function_call', 'auto', 'tool_choice'],
    ['reasoning_effort', 'low', 'reasoning.effort'],
    ['verbosity', 'low', 'text.verbosity'],
  ])('the error says where %s of Chat Completions has moved', async (name, value, replacement) => {
    const message = `Unsupported parameter: '${name}'. In the Responses API, this parameter has moved to '${replacement}'.`;
    await expect(run({ [name]: value })).rejects.toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: null, message } },
    });
  });

  it.each(['stop', 'n', 'seed', 'logprobs', 'logit_bias', 'modalities', 'audio', 'prediction', 'web_search_options'])(
    'the service refuses %s of Chat Completions, which has no counterpart',
    async (param) => {
      const message = `Unknown parameter: '${param}'. It belongs to Chat Completions, and the Responses API has no counterpart.`;
      await expect(run({ [param]: 1 })).rejects.toMatchObject({
        status: 400,
        body: { error: { code: 'unknown_parameter', param, message } },
      });
    },
  );

  it.each<[name: string, role: string, value: unknown, type: string]>([
    [
      'tool_calls',
      'assistant',
      [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      'function_call',
    ],
    ['function_call', 'assistant', { name: 'f', arguments: '{}' }, 'function_call'],
    ['tool_call_id', 'user', 'c', 'function_call_output'],
  ])('the error says where %s of a message of Chat Completions has moved', async (name, role, value, type) => {
    const param = `input[0].${name}`;
    const message = `Unsupported parameter: '${param}'. In the Responses API, this parameter has moved to items of type '${type}'.`;
    await expect(run({ input: [{ role, content: 'Hi', [name]: value }] })).rejects.toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param, message } },
    });
  });

  it('the service takes a message of Chat Completions without calls', async () => {
    const { response } = await run({ input: [{ role: 'assistant', content: 'Hi', tool_calls: [] }] });
    expect(response).toMatchObject({ status: 'completed' });
  });

  it('the error says so to a whole request of Chat Completions, whatever else is wrong with it', async () => {
    const request = { model: 'm', input: undefined, messages: [{ role: 'user', content: 'Hi' }], stop: ['\n'] };
    await expect(transport.run(service, request)).rejects.toMatchObject({
      body: { error: { code: 'unsupported_parameter', message: expect.stringContaining("'input'") as unknown } },
    });
  });

  it.each([
    'top_k',
    'min_p',
    'models',
    'usage',
    'repetition_penalty',
    'guided_json',
    'chat_template_kwargs',
    'scope',
    'type_',
    'name',
    'toString',
    '__proto__',
    'something_else_entirely',
  ])('the service ignores %s', async (name) => {
    const body: unknown = JSON.parse(JSON.stringify(REQUEST).replace('{', `{"${name}":7,`));
    const { response } = await transport.run(service, body as object);
    expect(response.status).toBe('completed');
  });

  it('the service compares only the first unknown names of a request', async () => {
    const bogus = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`bogus_field_${index}`, 1]));
    await expect(run({ bogus_field: 1, temprature: 1 })).rejects.toMatchObject({ status: 400 });
    const { response } = await run({ ...bogus, temprature: 1 });
    expect(response.status).toBe('completed');
    // Names that are known to be harmless do not count any more.
    await expect(run({ ...bogus, temprature: 1 })).rejects.toMatchObject({ status: 400 });
  });
});

describe('what is ignored is reported', () => {
  const service = useFreshService({ providers: [ScriptedProvider] });
  const ask = (members: object): ReturnType<typeof postJson> =>
    postJson(`${service.baseURL}/responses`, { ...REQUEST, ...members });

  it('an ignored name is reported once, without its value', async () => {
    using log = ServiceLog.begin();
    await ask({ vendor_field: 'secret' });
    await ask({ vendor_field: 'secret', top_k: 3 });
    await ask({ reasoning: { vendor_field: 'secret' } });
    expect(log.complaints).toEqual([
      expect.stringContaining('a field "vendor_field" that the API does not know') as unknown,
      expect.stringContaining('a field "top_k" that') as unknown,
      expect.stringContaining('a field "vendor_field" that') as unknown,
    ]);
    expect(log.complaints.join()).not.toContain('secret');
  });

  it('an ignored name is reported on one line, whatever it is', async () => {
    using log = ServiceLog.begin();
    await ask({ 'forged\nERROR line': 1 });
    expect(log.complaints).toEqual([expect.stringContaining('"forged\\nERROR line"') as unknown]);
  });

  it('ignored names are reported for a bounded number of names, and none that are very long', async () => {
    using log = ServiceLog.begin();
    for (let batch = 0; batch < 40; batch++) {
      await ask(Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`bogus_field_${batch}_${index}`, 1])));
    }
    await ask({ ['x'.repeat(10_000)]: 1 });
    expect(log.complaints).toHaveLength(256);
  });
});

describe('a fork of a session', () => {
  const service = useService({ providers: [ScriptedProvider] });

  it('a fork of a session is refused with a misspelt field', async () => {
    const answer = await postJson(`${service.baseURL}/sessions/s/fork`, {
      target_session_id: 't',
      up_to_respone_id: 'resp_1',
    });
    expect(answer).toMatchObject({ status: 400, body: { error: { param: 'up_to_respone_id' } } });
  });
});
