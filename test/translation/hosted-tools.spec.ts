import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { type ModelEvent, type ModelInfo, ModelProvider, ModelProviderBase } from '../../src/index.js';
import {
  type ChatService,
  type ChatServiceOptions,
  startChatService,
} from '../support/chat-upstream/start-chat-service.js';
import { useFreshService, useService } from '../support/describe-service.js';
import { ServiceLog } from '../support/service-log.js';
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

@ModelProvider('taking')
class TakingProvider extends SpeakingProvider {
  readonly model = 'taking';
  override readonly hostedTools = ['made_up'];
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
  message: expect.stringMatching(
    `^This model cannot call the tool of type '${type}'. (?:This service runs it with [A-Z_]+(?:, or with its URL in MCP_SERVERS)?. )?An upstream with the Responses API would run it \\(kind: responses\\), or `,
  ),
});

/** Starts a service with an upstream that runs no hosted tools, and providers of the program that run some. */
function startTranslating(options: ChatServiceOptions): Promise<ChatService> {
  return startChatService({
    ...options,
    providers: [OpenProvider, TakingProvider, SearchingProvider],
    models: [
      { name: 'tested', provider: 'upstream' },
      { name: 'either', upstreams: [{ provider: 'upstream' }, { provider: 'searching', weight: 0.000_001 }] },
      { prefix: 'any/', provider: 'upstream' },
    ],
  });
}

/** One for all tests of a block, each of which sees only its own requests to the upstream. */
function useJudging(environment: object = {}): ChatService {
  const service = useService(() => startTranslating({ environment: { ...environment } }));
  beforeEach(() => {
    service.upstream.requests.length = 0;
  });
  return service;
}

describe('hosted tools of a request', () => {
  const service = useJudging();

  it.each(TRANSPORTS)('tools are a mistake if nobody knows their type: $name', async (transport) => {
    const unknown = { status: 400, type: 'invalid_request_error', code: 'invalid_value' };
    const message = expect.stringMatching(/^Invalid value: 'made_up'\. Supported values are: 'apply_patch', /);
    const tools = [LOOK, { type: 'made_up' }];
    expect(await ask(service, { tools }, transport)).toMatchObject({ ...unknown, param: 'tools[1].type', message });
    const input = [
      // A model without Responses API sees none of it.
      { type: 'reasoning', summary: [], encrypted_content: 'foreign' },
      { type: 'additional_tools', role: 'developer', tools: [LOOK, SEARCH] },
      { role: 'user', content: 'Hi' },
      { type: 'additional_tools', role: 'developer', tools },
    ];
    const param = 'input[3].tools[1].type';
    expect(await ask(service, { tools: [LOOK], input }, transport)).toMatchObject({ ...unknown, param, message });
    expect(service.upstream.requests).toEqual([]);
    expect(await ask(service, { model: 'open', tools }, transport)).toMatchObject({ status: 'completed', tools });
    expect(await ask(service, { model: 'taking', tools }, transport)).toMatchObject({ status: 'completed', tools });
  });

  it.each(TRANSPORTS)('hosted tools are refused if their calls are to be approved: $name', async (transport) => {
    for (const require_approval of [
      'always',
      { always: { tool_names: ['send'] } },
      { never: { tool_names: ['look'] } },
    ]) {
      const tools = [LOOK, { ...MCP, require_approval }];
      expect(await ask(service, { tools }, transport)).toMatchObject(refused('tools[1].require_approval', 'mcp'));
    }
    expect(service.upstream.requests).toEqual([]);
    const tools = [LOOK, { ...MCP, require_approval: 'never' }];
    expect(await ask(service, { tools }, transport)).toMatchObject({ status: 'completed', tools });
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
  ])('hosted tools are refused if %s', async (_, request, type) => {
    for (const transport of TRANSPORTS) {
      expect(await ask(service, request, transport)).toMatchObject(refused('tool_choice', type));
    }
    expect(service.upstream.requests).toEqual([]);
  });

  it.each<readonly [what: string, tool: object, help: RegExp]>([
    ['a search', { ...SEARCH, type: 'web_search_preview' }, /'\. This service runs it with WEB_SEARCH\. An/],
    ['a server by URL', MCP, /'\. This service runs it with MCP_CLIENT_URLS, or with its URL in MCP_SERVERS\. An/],
    ['a connector', connected({ connector_id: 'connector_x' }), /'\. This service runs it with MCP_SERVERS\. An/],
    ['a tunnel, which it never runs', connected({ tunnel_id: 'tunnel_x' }), /'\. An upstream/],
    [
      'a tool with approvals',
      { ...MCP, require_approval: 'always' },
      /\. It wants approvals for its calls, but nothing here would call it\. Remove it, or set 'require_approval' to 'never'\.$/,
    ],
  ])('hosted tools are refused with what helps for %s', async (_, tool, message) => {
    const { type, server_label } = tool as Record<string, unknown>;
    const choices = 'require_approval' in tool ? ['auto'] : [{ type, server_label }, 'required'];
    for (const tool_choice of choices) {
      const refusal = await ask(service, { tools: [tool], tool_choice });
      expect(refusal).toMatchObject({ status: 400, message: expect.stringMatching(message) });
    }
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
  ])('hosted tools are not refused if %s', async (_, request) => {
    expect(await ask(service, request)).toMatchObject({ status: 'completed' });
  });
});

describe('hosted tools with HOSTED_TOOLS=reject', () => {
  const service = useJudging({ HOSTED_TOOLS: 'reject' });

  it.each(TRANSPORTS)('hosted tools are refused by their place with HOSTED_TOOLS=reject: $name', async (transport) => {
    expect(await ask(service, { tools: [LOOK, SEARCH] }, transport)).toMatchObject(refused('tools[1]', 'web_search'));
    expect(service.upstream.requests).toEqual([]);
    const local = [LOOK, { type: 'shell' }, { type: 'apply_patch' }, { type: 'tool_search' }];
    expect(await ask(service, { tools: local }, transport)).toMatchObject({ status: 'completed' });
  });

  it('hosted tools are accepted by providers of the program, which run what they say, or decide themselves', async () => {
    const tools = [SEARCH, MCP];
    expect(await ask(service, { model: 'open', tools, tool_choice: SEARCH })).toMatchObject({ status: 'completed' });
    expect(await ask(service, { model: 'searching', tools: [SEARCH] })).toMatchObject({ status: 'completed' });
    expect(await ask(service, { model: 'searching', tools })).toMatchObject(refused('tools[1]', 'mcp'));
  });
});

describe('hosted tools', () => {
  let log: ServiceLog;
  let service: ChatService;

  const start = async (environment: object = {}): Promise<void> => {
    service = await startTranslating({
      environment: { LOG_LEVEL: 'log', ...environment },
      imports: [log.asModule()],
    });
  };

  const linesAbout = (word: string): readonly string[] => log.lines.filter((line) => line.includes(word));

  beforeEach(() => {
    log = new ServiceLog();
  });

  afterEach(async () => {
    await service.close();
    log[Symbol.dispose]();
  });

  it.each(TRANSPORTS)(
    'hosted tools are left out for the upstream, echoed, and logged once: $name',
    async (transport) => {
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
    },
  );

  it('left out hosted tools do not fill the log, whatever clients call their models', async () => {
    await start();
    const screen = { environment: 'browser', display_width: 800, display_height: 600 };
    const types = ['computer', 'computer_use', 'image_generation', 'programmatic_tool_calling'];
    const others = ['web_search', 'web_search_2025_08_26', 'web_search_preview'];
    const tools = [
      MCP,
      { type: 'code_interpreter', container: 'auto' },
      { type: 'computer_use_preview', ...screen },
      ...[...types, ...others].map((type) => ({ type })),
    ];
    for (let number = 0; number < 101; number += 1) await ask(service, { model: `any/made_up_${number}\n`, tools });
    expect(linesAbout('is left out')).toHaveLength(1000);
    expect(log.lines.every((line) => !line.includes('\n'))).toBe(true);
  });

  it('hosted tools go to the upstream that runs them, if there is one', async () => {
    await start();
    const response = await ask(service, { model: 'either', tools: [LOOK, SEARCH], tool_choice: SEARCH });
    expect(JSON.stringify(response)).toContain('This is searching.');
    expect(service.upstream.requests).toEqual([]);
    expect(linesAbout('web_search')).toEqual([]);
  });

  it('hosted tools are judged the same when answers are recorded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-hosted-'));
    await start({ RECORD_FILE: join(folder, 'record.jsonl') });
    expect(await ask(service, { tools: [SEARCH], tool_choice: SEARCH })).toMatchObject(
      refused('tool_choice', 'web_search'),
    );
    await rm(folder, { recursive: true });
  });
});

describe('hosted tools of the simulator', () => {
  const logged = useFreshService(async () => {
    const log = new ServiceLog();
    const service = await startService({ environment: { LOG_LEVEL: 'log' }, imports: [log.asModule()] });
    const close = async (): Promise<void> => {
      await service.close();
      log[Symbol.dispose]();
    };
    return { ...service, log, close, [Symbol.asyncDispose]: close };
  });

  it.each(TRANSPORTS)(
    'hosted tools of the simulator are judged as those of chat upstreams: $name',
    async (transport) => {
      const answer = (request: object): Promise<object> => ask(logged, { model: 'simulator', ...request }, transport);
      const tools = [LOOK, SEARCH, MCP];
      for (let round = 0; round < 2; round += 1)
        expect(await answer({ tools })).toMatchObject({ status: 'completed', tools });
      expect(logged.log.lines.filter((line) => line.includes('runs "web_search": the tool is left out'))).toHaveLength(
        1,
      );
      expect(await answer({ tools, tool_choice: SEARCH })).toMatchObject(refused('tool_choice', 'web_search'));
      expect(await answer({ tools: [SEARCH], tool_choice: 'required' })).toMatchObject(
        refused('tool_choice', 'web_search'),
      );
      expect(await answer({ tools: [{ ...MCP, require_approval: 'always' }] })).toMatchObject(
        refused('tools[0].require_approval', 'mcp'),
      );
      expect(await answer({ tools: [{ type: 'made_up' }] })).toMatchObject({ status: 400, param: 'tools[0].type' });
    },
  );

  it('hosted tools of the simulator are left to scripts, which may play them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-hosted-'));
    const script = join(folder, 'script.yaml');
    await writeFile(script, 'model: scripted\nturns: [{ steps: [{ text: Found. }] }]\n');
    await using scripted = await startService({ environment: { SIMULATOR_SCRIPTS: script } });
    const request = { model: 'scripted', tools: [SEARCH], tool_choice: SEARCH };
    expect(await ask(scripted, request)).toMatchObject({ status: 'completed' });
    await rm(folder, { recursive: true });
  });
});

/** An MCP tool that names its server in another way than by a URL. */
function connected(server: object): object {
  return { type: 'mcp', server_label: 'docs', ...server };
}

function allowed(mode: string, ...tools: readonly object[]): object {
  return { type: 'allowed_tools', mode, tools };
}
