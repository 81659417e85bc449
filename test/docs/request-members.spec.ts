import { readFile } from 'node:fs/promises';

import { beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';

const TYPES = 'node_modules/openai/resources';

/** The types of a request, by what their members are called in the table. */
const OBJECTS: readonly (readonly [prefix: string, file: string, path: string])[] = [
  ['', 'responses/responses.d.ts', 'ResponseCreateParamsBase'],
  ['access_programs.', 'responses/responses.d.ts', 'ResponseCreateParams.AccessPrograms'],
  ['context_management.', 'responses/responses.d.ts', 'ResponseCreateParams.ContextManagement'],
  ['image.', 'responses/responses.d.ts', 'ResponseCreateParams.Image'],
  ['prompt_cache_options.', 'responses/responses.d.ts', 'ResponseCreateParams.PromptCacheOptions'],
  ['stream_options.', 'responses/responses.d.ts', 'ResponseCreateParams.StreamOptions'],
  ['reasoning.', 'shared.d.ts', 'Reasoning'],
  ['text.', 'responses/responses.d.ts', 'ResponseTextConfig'],
  ['tools[function].', 'responses/responses.d.ts', 'FunctionTool'],
  ['tools[custom].', 'responses/responses.d.ts', 'CustomTool'],
  ['tools[namespace].', 'responses/responses.d.ts', 'NamespaceTool'],
  ['input_text.', 'responses/responses.d.ts', 'ResponseInputText'],
  ['input_image.', 'responses/responses.d.ts', 'ResponseInputImage'],
  ['input_file.', 'responses/responses.d.ts', 'ResponseInputFile'],
];

/** A value of each member that is refused, or only echoed by the response. */
const SAMPLES: Readonly<Record<string, object>> = {
  'access_programs.cyber': { access_programs: { cyber: 'standard' } },
  'image.context_compression': { image: { context_compression: 'disabled' } },
  input_transformations: { input_transformations: [{}] },
  metadata: { metadata: { a: 'b' } },
  moderation: { moderation: { model: 'omni-moderation-latest' } },
  prompt: { prompt: { id: 'pmpt_1' } },
  prompt_cache_key: { prompt_cache_key: 'key' },
  'prompt_cache_options.comparison_response_id': { prompt_cache_options: { comparison_response_id: 'resp_1' } },
  'prompt_cache_options.mode': { prompt_cache_options: { mode: 'explicit' } },
  'prompt_cache_options.ttl': { prompt_cache_options: { ttl: '12h' } },
  prompt_cache_retention: { prompt_cache_retention: '24h' },
  'reasoning.mode': { reasoning: { mode: 'pro' } },
  safety_identifier: { safety_identifier: 'somebody' },
  service_tier: { service_tier: 'flex' },
  'tools[function].output_schema': { tools: [{ type: 'function', name: 'f', output_schema: { type: 'object' } }] },
  'tools[namespace].description': { tools: [{ type: 'namespace', name: 'n', description: 'd', tools: [] }] },
  user: { user: 'somebody' },
};

const PART_OF = /^input_(?:text|image|file)\./;
const PARTS: Readonly<Record<string, object>> = {
  'input_text.prompt_cache_breakpoint': {
    type: 'input_text',
    text: 'Hi',
    prompt_cache_breakpoint: { mode: 'explicit' },
  },
  'input_image.prompt_cache_breakpoint': {
    type: 'input_image',
    image_url: 'https://example.com/a.png',
    prompt_cache_breakpoint: { mode: 'explicit' },
  },
  'input_file.prompt_cache_breakpoint': {
    type: 'input_file',
    file_url: 'https://example.com/a.pdf',
    prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' },
  },
  'input_file.detail': { type: 'input_file', file_url: 'https://example.com/a.pdf', detail: 'high' },
};

/** The members of an interface, which may be in namespaces. */
function membersOf(source: ts.SourceFile, path: string): readonly string[] {
  let statements: readonly ts.Statement[] = source.statements;
  const names = path.split('.');
  const last = names.pop();
  for (const name of names) {
    statements = statements.filter(ts.isModuleDeclaration).flatMap((one) => {
      const { body } = one;
      return one.name.text === name && body !== undefined && ts.isModuleBlock(body) ? body.statements : [];
    });
  }
  const found = statements.filter(ts.isInterfaceDeclaration).filter(({ name }) => name.text === last);
  if (found.length === 0) throw new Error(`there is no type ${path}`);
  return found.flatMap(({ members }) => members.filter(ts.isPropertySignature).map(({ name }) => name.getText(source)));
}

async function generate(): Promise<readonly string[]> {
  const sources = new Map<string, ts.SourceFile>();
  for (const file of new Set(OBJECTS.map(([, one]) => one))) {
    const text = await readFile(`${TYPES}/${file}`, 'utf8');
    sources.set(file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
  }
  const all = OBJECTS.flatMap(([prefix, file, path]) => {
    const source = sources.get(file);
    return source === undefined ? [] : membersOf(source, path).map((member) => `${prefix}${member}`);
  });
  // An object whose members have lines of their own needs none.
  return all.filter((path) => !all.some((other) => other.startsWith(`${path}.`) || other.startsWith(`${path}[`)));
}

describe('docs/protocol.md §2.1', () => {
  const service = useService({ providers: [ScriptedProvider] });
  let rows: ReadonlyMap<string, string>;

  const rowsOf = (fate: string): readonly string[] => [...rows].filter(([, one]) => one === fate).map(([name]) => name);
  const send = (body: object): ReturnType<typeof service.api.post> =>
    service.api.post('responses', { model: 'scripted', input: 'Hi', ...body });

  beforeAll(async () => {
    const [, section = ''] = (await readFile('docs/protocol.md', 'utf8')).split(/^### 2\.1 .*$/m);
    const [table = ''] = section.split(/^## /m);
    rows = new Map([...table.matchAll(/^\| `([^`]+)` \| (\w+) \|/gm)].map(([, name = '', fate = '']) => [name, fate]));
  });

  it('docs/protocol.md has a line for every member that the types of the SDK have', async () => {
    const missing = (await generate()).filter((member) => !rows.has(member));
    expect(missing).toEqual([]);
    expect([...new Set(rows.values())].toSorted()).toEqual(['echo', 'effect', 'refused', 'upstream']);
  });

  it('docs/protocol.md says truly what is refused', async () => {
    for (const member of rowsOf('refused')) {
      expect([member, await send(SAMPLES[member] ?? {})]).toMatchObject([
        member,
        { status: 400, body: { error: { code: 'unsupported_parameter', param: member } } },
      ]);
    }
  });

  it('docs/protocol.md says truly what is echoed', async () => {
    for (const member of [...rowsOf('echo'), ...rowsOf('upstream')].filter((name) => !PART_OF.test(name))) {
      const sample = SAMPLES[member];
      expect([member, sample]).not.toEqual([member, undefined]);
      expect([member, await send(sample ?? {})]).toMatchObject([member, { status: 200, body: sample }]);
    }
  });

  it('docs/protocol.md says truly which parts are kept', async () => {
    for (const member of [...rowsOf('echo'), ...rowsOf('upstream')].filter((name) => PART_OF.test(name))) {
      const content = [PARTS[member]];
      const { body } = await send({ input: [{ role: 'user', content }] });
      const items = await service.api.get(`responses/${String(body['id'])}/input_items`);
      expect([member, items.body['data']]).toMatchObject([member, [{ content }]]);
    }
  });

  it('images are not compressed by a model that cannot do it', async () => {
    expect(await send({ image: { context_compression: 'enabled' } })).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_value', param: 'image.context_compression' } },
    });
  });
});
