import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { call, say } from '../support/scripted-calls.js';
import { itemsOf } from '../support/output.js';
import { startService } from '../support/service.js';
import { JSON_TRANSPORT } from '../support/transports.js';

const PNG = Buffer.from('a picture').toString('base64');
const IMAGE = { type: 'image', data: PNG, mimeType: 'image/png' };
const RESULTS: Readonly<Record<string, readonly object[]>> = {
  image: [{ type: 'text', text: 'Left:' }, IMAGE, { type: 'text', text: 'Right:' }, { type: 'text', text: 'nothing' }],
  resource: [{ type: 'resource', resource: { uri: 'file:///a.png', mimeType: 'image/png', blob: PNG } }],
  vector: [{ ...IMAGE, mimeType: 'image/svg+xml' }],
  broken: [{ ...IMAGE, data: 'no base64' }],
};

const server = await FakeMcpServer.start(
  Object.entries(RESULTS).map(([name, content]) => ({ name, handler: () => ({ content }) as never })),
);
const path = await writeMcpServers({ studio: { url: server.url } });

afterAll(async () => {
  await server.close();
});

const service = useService(
  () => startService({ providers: [ScriptedProvider], environment: { MCP_SERVERS: path } }) as never,
);

beforeEach(() => {
  service.provider.turns.length = 0;
});

/** What the model reads of a call, in its turn and in the next one, and what the client sees of it. */
async function callTool(name: string, hasEyes: boolean): Promise<{ read: readonly unknown[]; shown: unknown }> {
  service.provider.hasEyes = hasEyes;
  const tools = [{ type: 'mcp', server_label: 'studio', require_approval: 'never' }];
  service.provider.reply(...call(`studio__${name}`, {})).reply(...say('Seen.'));
  const { response } = await JSON_TRANSPORT.run(service, { model: 'm', input: 'Look.', tools });
  service.provider.reply(...say('Again.'));
  await JSON_TRANSPORT.run(service, { model: 'm', input: 'Again.', tools, previous_response_id: response.id });
  const read = service.provider.turns.slice(1).map(({ context }) => {
    return context.find(({ type }) => type === 'function_call_output')?.['output'];
  });
  return { read, shown: itemsOf(response, 'mcp_call')[0]?.['output'] };
}

const shown = { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' };

describe('a result of an MCP tool with images', () => {
  it.each([
    ['image', [{ type: 'input_text', text: 'Left:' }, shown, { type: 'input_text', text: 'Right:\nnothing' }]],
    ['resource', [shown]],
  ])('a model that sees images reads those of a result as such: %s', async (name, parts) => {
    expect((await callTool(name, true)).read).toEqual([parts, parts]);
  });

  it.each(['vector', 'broken'])('a model reads the JSON of what is no image that it could see: %s', async (name) => {
    const { read, shown: output } = await callTool(name, true);
    expect(read).toEqual([output, output]);
  });

  it.each(Object.keys(RESULTS))('a model that sees no images reads the text that the client sees: %s', async (name) => {
    const { read, shown: output } = await callTool(name, false);
    expect(output).toContain(name === 'broken' ? 'no base64' : PNG);
    expect(read).toEqual([output, output]);
  });
});
