import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { type ModelEvent, type ModelInfo, ModelProvider, ModelProviderBase } from '../../src/index.js';
import { type ChatService, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { WholeLog } from '../support/routing/whole-log.js';
import { type Service, startService } from '../support/service.js';
import { Refusal, type WireResponse } from '../support/transport.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const SEARCH = { type: 'web_search' };
const LOOK = { type: 'function', name: 'look', parameters: {}, strict: false };
const CONTAINER = { type: 'shell', environment: { type: 'container_auto' } };
const MCP = { type: 'mcp', server_label: 'docs', server_url: 'https://docs.example.com' };

/** A provider of the program: what it says of hosted tools differs. */
abstract class SpeakingProvider extends ModelProviderBase {
  abstract readonly model: string;

  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: this.model, ownedBy: 'program', created: 1 }];
  }

  override async *generate(): AsyncGenerator<ModelEvent> {
    yield { type: 'text', delta: `This is ${this.model}.` };
    yield { type: 'finish', reason: 'stop' };
  }
}

@ModelProvider('open')
class OpenProvider extends SpeakingProvider {
  readonly model = 'open';
}

@ModelProvider('searching')
class SearchingProvider extends SpeakingProvider {
  readonly model = 'searching';
  override readonly hostedTools = ['web_search'];
}

/** Runs a turn, and returns its response or the error of its refusal. */
async function ask(service: Service, request: object, transport = JSON_TRANSPORT): Promise<Record<string, unknown>> {
  try {
    return (await transport.run(service, { model: 'tested', input: 'Hi', ...request })).response;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { status: error.status, ...(error.body as { readonly error: object }).error };
  }
}

const refused = (param: string, type: string): object => ({
  status: 400,
  type: 'invalid_request_error',
  code: 'unsupported_value',
  param,
  message: expect.stringContaining(`This model cannot call the tool of type '${type}'.`),
});

describe('hosted tools', () => {
  let log: WholeLog;
  let service: ChatService;

  const start = async (environment: object = {}): Promise<void> => {
    service = await startChatService({
      environment: { LOG_LEVEL: 'log', ...environment },
      imports: [log.asModule()],
      providers: [OpenProvider, SearchingProvider],
      models: [
        { name: 'tested', provider: 'upstream' },
        { name: 'either', upstreams: [{ provider: 'upstream' }, { provider: 'searching', weight: 0.000_001 }] },
        { prefix: 'any/', provider: 'upstream' },
      ],
    });
  };

  const linesAbout = (word: string): readonly string[] => log.lines.filter((line) => line.includes(word));

  beforeEach(() => {
    log = new WholeLog();
  });

  afterEach(async () => {
    await service.close();
    log[Symbol.dispose]();
  });

  it.each(TRANSPORTS)('are left out for the upstream, echoed, and logged once: $name', async (transport) => {
    await start();
    const tools = [LOOK, SEARCH, MCP];
    for (let round = 0; round < 3; round += 1) {
      const response = (await ask(service, { tools }, transport)) as WireResponse;
      expect(response).toMatchObject({ status: 'completed', tools });
    }
    for (const { body } of service.upstream.requests) expect(body.tools).toHaveLength(1);
    expect(linesAbout('web_search')).toEqual([
      expect.stringMatching(/^log no provider of the model "tested" runs "web_search": the tool is left out/),
    ]);
    expect(linesAbout('"mcp"')).toHaveLength(1);
    await ask(service, { model: 'any/other', tools });
    expect(linesAbout('web_search')).toHaveLength(2);
  });

  it('do not fill the log, whatever clients call them', async () => {
    await start();
    const tools = Array.from({ length: 600 }, (_, index) => ({ type: `made_up_${index}\n` }));
    await ask(service, { tools });
    await ask(service, { model: 'any/m', tools });
    expect(linesAbout('made_up')).toHaveLength(1000);
    expect(linesAbout('made_up').every((line) => !line.includes('\n'))).toBe(true);
  });

  it.each<readonly [what: string, request: object, type: string]>([
    ['one is chosen', { tools: [LOOK, SEARCH], tool_choice: SEARCH }, 'web_search'],
    [
      'one is chosen by another name',
      { tools: [SEARCH], tool_choice: { type: 'web_search_preview' } },
      'web_search_preview',
    ],
    ['a server is chosen', { tools: [MCP], tool_choice: { type: 'mcp', server_label: 'docs' } }, 'mcp'],
    ['only they are allowed', { tools: [LOOK, SEARCH], tool_choice: allowed('auto', SEARCH) }, 'web_search'],
    ['a call of them is required', { tools: [SEARCH, MCP], tool_choice: 'required' }, 'web_search'],
    ['a shell in a container is required', { tools: [CONTAINER], tool_choice: 'required' }, 'shell'],
  ])('are refused if %s', async (_, request, type) => {
    await start();
    for (const transport of TRANSPORTS) {
      expect(await ask(service, request, transport)).toMatchObject(refused('tool_choice', type));
    }
    expect(service.upstream.requests).toEqual([]);
  });

  it.each<readonly [what: string, request: object]>([
    ['another tool can be called', { tools: [SEARCH, LOOK], tool_choice: 'required' }],
    [
      'another tool is allowed',
      { tools: [SEARCH, LOOK], tool_choice: allowed('required', SEARCH, { type: 'function', name: 'look' }) },
    ],
    ['no call is demanded', { tools: [SEARCH], tool_choice: 'auto' }],
    ['no call is wanted', { tools: [SEARCH], tool_choice: 'none' }],
    [
      'the conversation brings another tool',
      {
        tools: [SEARCH],
        tool_choice: 'required',
        input: [{ type: 'additional_tools', role: 'developer', tools: [LOOK] }],
      },
    ],
  ])('are not refused if %s', async (_, request) => {
    await start();
    expect(await ask(service, request)).toMatchObject({ status: 'completed' });
  });

  describe('with HOSTED_TOOLS=reject', () => {
    it.each(TRANSPORTS)('are refused by their place: $name', async (transport) => {
      await start({ HOSTED_TOOLS: 'reject' });
      expect(await ask(service, { tools: [LOOK, SEARCH] }, transport)).toMatchObject(refused('tools[1]', 'web_search'));
      expect(service.upstream.requests).toEqual([]);
      const local = [LOOK, { type: 'shell' }, { type: 'apply_patch' }, { type: 'tool_search' }];
      expect(await ask(service, { tools: local }, transport)).toMatchObject({ status: 'completed' });
    });

    it('are accepted by providers of the program, which run what they say, or decide themselves', async () => {
      await start({ HOSTED_TOOLS: 'reject' });
      const tools = [SEARCH, MCP];
      expect(await ask(service, { model: 'open', tools, tool_choice: SEARCH })).toMatchObject({ status: 'completed' });
      expect(await ask(service, { model: 'searching', tools: [SEARCH] })).toMatchObject({ status: 'completed' });
      expect(await ask(service, { model: 'searching', tools })).toMatchObject(refused('tools[1]', 'mcp'));
    });

    it('are accepted by the simulator', async () => {
      await start();
      await using simulated = await startService({ environment: { HOSTED_TOOLS: 'reject' } });
      const request = { model: 'simulator', tools: [SEARCH], tool_choice: SEARCH };
      expect(await ask(simulated, request)).toMatchObject({ status: 'completed' });
    });
  });

  it('go to the upstream that runs them, if there is one', async () => {
    await start();
    const response = await ask(service, { model: 'either', tools: [LOOK, SEARCH], tool_choice: SEARCH });
    expect(JSON.stringify(response)).toContain('This is searching.');
    expect(service.upstream.requests).toEqual([]);
    expect(linesAbout('web_search')).toEqual([]);
  });

  it('are judged the same when answers are recorded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-hosted-'));
    await start({ RECORD_FILE: join(folder, 'record.jsonl') });
    expect(await ask(service, { tools: [SEARCH], tool_choice: SEARCH })).toMatchObject(
      refused('tool_choice', 'web_search'),
    );
    await rm(folder, { recursive: true });
  });
});

function allowed(mode: string, ...tools: readonly object[]): object {
  return { type: 'allowed_tools', mode, tools };
}
