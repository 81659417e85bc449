import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { BadRequestError } from 'openai';

import type { Turn } from '../../src/providers/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { WrittenTurns } from '../support/held-turns.js';
import { pause } from '../support/pause.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { SteeredLane } from '../support/steered-lane.js';

const IMAGE = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' } as const;

/** A part with a file that was deleted. */
const NO_FILE = { type: 'input_file', file_id: `file_${'0'.repeat(32)}` } as const;

const FILE = `
prompts:
  - id: pmpt_shop
    versions:
      - version: 1
        model: scripted
        instructions: You help customers of {{shop}}.
        temperature: 0.2
      - version: "2"
        model: scripted
        instructions: Greet customers of {{ shop }} in {{tongue}}.
        input:
          - { role: user, content: "I bought {{thing}} at {{shop}}. See?" }
          - role: user
            content: [{ type: input_text, text: "{{thing}}" }]
    default_version: 1
  - id: pmpt_red
    tenants: [red]
    versions: [{ version: json, model: scripted, input: Answer as JSON. }, { version: a, model: scripted, input: Say hello. }]
`;

let folder: string;
let path: string;
let service: Service;
let provider: ScriptedProvider;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antiphon-prompts-'));
  path = join(folder, 'prompts.yaml');
  await writeFile(path, FILE);
  const environment = { PROMPTS_FILE: path, API_KEYS: 'red:red-key,blue:blue-key' };
  service = await startService({ environment, providers: [ScriptedProvider] });
  provider = service.app.get(ScriptedProvider);
});

afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(() => {
  provider.turns.length = 0;
  provider.otherwise(async function* () {
    yield { type: 'text', delta: 'ok' };
    yield { type: 'finish', reason: 'stop' };
  });
});

const client = (tenant = 'red'): ReturnType<Service['client']> => service.client({ apiKey: `${tenant}-key` });

const SHOP = { id: 'pmpt_shop', variables: { shop: 'Bean' } };

function lastTurn(): Turn {
  const turn = provider.turns.at(-1);
  if (turn === undefined) throw new Error('no model was asked');
  return turn;
}

const contentsOf = ({ context }: Turn): unknown[] => context.map(({ content }) => content);

describe('a request that names a prompt', () => {
  it('a request that names a prompt gets the instructions and settings of the default version, and the response echoes it', async () => {
    const response = await client().responses.create({ prompt: SHOP, input: 'Hi' } as never);
    expect(response).toMatchObject({
      model: 'scripted',
      instructions: 'You help customers of Bean.',
      temperature: 0.2,
      prompt: { ...SHOP, version: '1' },
    });
    const stored = await client().responses.retrieve(response.id);
    expect(stored.prompt).toEqual({ ...SHOP, version: '1' });
  });

  it('the members of a request that names a prompt count, but not those that are null', async () => {
    const own = { prompt: SHOP, input: 'Hi', instructions: 'Be brief.', temperature: null };
    const response = await client().responses.create(own as never);
    expect(response).toMatchObject({ instructions: 'Be brief.', temperature: 0.2 });
  });

  it('a request that names a prompt has the messages of the prompt in front of its input, with texts and images in place of variables', async () => {
    const variables = { shop: 'Bean', tongue: { type: 'input_text', text: 'French' } as const, thing: IMAGE };
    const prompt = { id: 'pmpt_shop', version: '2', variables };
    const response = await client().responses.create({ prompt, input: 'Help.' } as never);
    expect(response.instructions).toBe('Greet customers of Bean in French.');
    expect(contentsOf(lastTurn())).toMatchObject([
      [{ type: 'input_text', text: 'I bought ' }, IMAGE, { type: 'input_text', text: ' at Bean. See?' }],
      [IMAGE],
      [{ type: 'input_text', text: 'Help.' }],
    ]);
    const { data } = await client().responses.inputItems.list(response.id);
    expect(data).toHaveLength(3);
  });

  it('a request that names a prompt is checked together with the messages of the prompt', async () => {
    const prompt = { id: 'pmpt_red' };
    await client().responses.create({ prompt, input: [] } as never);
    const format = { type: 'json_object' };
    const json = { prompt: { ...prompt, version: 'json' }, input: 'Now.', text: { format } };
    await client().responses.create(json as never);
    expect(contentsOf(lastTurn())).toMatchObject([[{ text: 'Answer as JSON.' }], [{ text: 'Now.' }]]);
  });

  it('a request that names a prompt is steered without the messages of the prompt again', async () => {
    provider.isSteerable = true;
    await using socket = await SocketClient.open(service, { headers: { authorization: 'Bearer red-key' } });
    const lane = new SteeredLane(socket);
    const modelTurns = new WrittenTurns(provider);
    lane.create({ prompt: { id: 'pmpt_red' }, input: 'First.' });
    (await modelTurns.next()).write({ type: 'text', delta: 'Hel' });
    const { id } = await lane.created();
    await lane.until('response.output_item.added');
    lane.steer(id);
    await lane.until('response.steer.accepted');
    await lane.end();
    (await modelTurns.next()).end();
    const successor = await lane.created();
    expect(successor).not.toHaveProperty('prompt');
    await lane.end();
    const said = JSON.stringify(contentsOf(lastTurn()));
    expect(said.split('Say hello.')).toHaveLength(2);
  });

  it('a request that names a prompt needs no input of its own', async () => {
    await client().responses.create({ prompt: { id: 'pmpt_red' } } as never);
    expect(contentsOf(lastTurn())).toMatchObject([[{ text: 'Say hello.' }]]);
  });

  it('a request that names a prompt is the same as a stream, on a socket, in the background and when its tokens are counted', async () => {
    const body = { prompt: { id: 'pmpt_red' }, input: 'And goodbye.' };
    const seen = [[{ text: 'Say hello.' }], [{ text: 'And goodbye.' }]];
    await client()
      .responses.create({ ...body, stream: true } as never)
      .then(async (stream) => {
        for await (const _ of stream as unknown as AsyncIterable<unknown>);
      });
    expect(contentsOf(lastTurn())).toMatchObject(seen);
    await using socket = await SocketClient.open(service, { headers: { authorization: 'Bearer red-key' } });
    await socket.turn(body);
    expect(contentsOf(lastTurn())).toMatchObject(seen);
    const { id } = await client().responses.create({ ...body, background: true } as never);
    while ((await client().responses.retrieve(id)).status !== 'completed') await pause();
    expect(contentsOf(lastTurn())).toMatchObject(seen);
    const counted = await client().responses.inputTokens.count(body);
    const plain = await client().responses.inputTokens.count({
      model: 'scripted',
      input: [
        { role: 'user', content: 'Say hello.' },
        { role: 'user', content: 'And goodbye.' },
      ],
    });
    expect(counted.input_tokens).toBe(plain.input_tokens);
  });

  it.each<[object, string | null, string, RegExp]>([
    [{ prompt: { id: 'pmpt_none' } }, null, 'prompt.id', /^400 Prompt with id 'pmpt_none' not found/],
    [{ prompt: { ...SHOP, version: '9' } }, null, 'prompt.version', /has no version '9'/],
    [
      { prompt: { id: 'pmpt_shop' } },
      'missing_required_parameter',
      'prompt.variables.shop',
      /needs the variable 'shop'/,
    ],
    [
      { prompt: { id: 'pmpt_shop', variables: { shop: 'B', shoe: 'B' } } },
      null,
      'prompt.variables.shoe',
      /has no variable 'shoe'/,
    ],
    [{ prompt: { id: 'pmpt_shop', variables: { shop: IMAGE } } }, null, 'prompt.variables.shop', /must be a text/],
    [
      { prompt: { id: 'pmpt_shop', variables: { shop: 7 } } },
      'invalid_type',
      'prompt.variables.shop',
      /expected one of/,
    ],
    [
      { prompt: { id: 'pmpt_red' }, input: [{ role: 'user' }] },
      'missing_required_parameter',
      'input[0].content',
      /input\[0\]/,
    ],
    [
      { prompt: { id: 'pmpt_red' }, input: [{ role: 'user', content: [NO_FILE] }] },
      'invalid_value',
      'input[0].content[0]',
      /Invalid 'input\[0\]\.content\[0\]': there is no file/,
    ],
    [
      { prompt: { ...SHOP, version: '2', variables: { shop: 'Bees', tongue: 'Latin', thing: NO_FILE } } },
      'invalid_value',
      'prompt',
      /Invalid 'prompt': there is no file/,
    ],
    [{ prompt: {} }, 'missing_required_parameter', 'prompt.id', /Missing required parameter: 'prompt.id'/],
    [{ prompt: SHOP, input: [{ role: 'user' }] }, 'missing_required_parameter', 'input[0].content', /input\[0\]/],
  ])(
    'a request that names a prompt is refused by the name of what is wrong: %j',
    async (body, code, param, message) => {
      const refused = client().responses.create({ input: 'Hi', ...body } as never);
      await expect(refused).rejects.toBeInstanceOf(BadRequestError);
      await expect(refused).rejects.toMatchObject({
        status: 400,
        code,
        param,
        message: expect.stringMatching(message),
      });
      expect(provider.turns).toHaveLength(0);
    },
  );

  it('a request that names a prompt does not find the prompt of another tenant', async () => {
    const refused = client('blue').responses.create({ prompt: { id: 'pmpt_red' } } as never);
    await expect(refused).rejects.toMatchObject({ status: 400, param: 'prompt.id' });
  });
});

describe('GET /v1/prompts', () => {
  it('GET /v1/prompts shows each tenant its own', async () => {
    const list = (tenant: string): Promise<{ data: { id: string }[] }> => client(tenant).get('/prompts');
    expect((await list('red')).data.map(({ id }) => id)).toEqual(['pmpt_shop', 'pmpt_red']);
    expect((await list('blue')).data.map(({ id }) => id)).toEqual(['pmpt_shop']);
    expect(await client().get('/prompts/pmpt_shop')).toMatchObject({
      object: 'prompt',
      default_version: '1',
      versions: [
        { version: '1', variables: ['shop'] },
        { version: '2', variables: ['shop', 'tongue', 'thing'] },
      ],
    });
    await expect(client('blue').get('/prompts/pmpt_red')).rejects.toMatchObject({
      status: 404,
      message: "404 Prompt with id 'pmpt_red' not found.",
    });
  });
});

describe('PROMPTS_FILE', () => {
  it('PROMPTS_FILE is read again on SIGHUP, and a fault leaves the prompts so far', async () => {
    const answer = (): Promise<string | null> =>
      client()
        .responses.create({ prompt: { id: 'pmpt_new' } } as never)
        .then(
          ({ instructions }) => instructions as string | null,
          () => null,
        );
    const versions = [{ version: '1', model: 'scripted', instructions: 'New.', input: 'Hi' }];
    await writeFile(path, JSON.stringify({ prompts: [{ id: 'pmpt_new', versions }] }));
    process.emit('SIGHUP');
    while ((await answer()) !== 'New.') await pause();
    await writeFile(path, 'prompts: [{ id: pmpt_new }]');
    process.emit('SIGHUP');
    await new Promise((resolve) => setImmediate(resolve));
    expect(await answer()).toBe('New.');
    await writeFile(path, FILE);
    process.emit('SIGHUP');
    while ((await answer()) !== null) await pause();
  });

  it.each<[string, RegExp]>([
    ['prompts: [{ id: p }]', /prompts\[0\].*versions/],
    ['prompts: [{ id: p, versions: [{ version: 1, modle: x }] }]', /prompts\[0\]\.versions\[0\].*modle/],
    ['prompts: [{ id: p, versions: [{ version: 1, temperature: 3 }] }]', /prompts\[0\]\.versions\[0\]\.temperature/],
    ['prompts: [{ id: p, versions: [{ version: 1, input: [{ role: user }] }] }]', /versions\[0\]\.input\[0\]\.content/],
    [
      'prompts: [{ id: p, versions: [{ version: 1, tools: [{ type: mcp, server_label: s, server_url: "https://a.example", authorization: t }] }] }]',
      /versions\[0\]\.tools\[0\]\.authorization/,
    ],
    ['prompts: [{ id: p, versions: [{ version: 1 }], default_version: 2 }]', /default_version is none of its versions/],
    ['prompts: [{ id: p, versions: [{ version: 1 }, { version: "1" }] }]', /versions\[1\]\.version is a duplicate/],
    [
      'prompts: [{ id: p, versions: [{ version: 1 }] }, { id: p, versions: [{ version: 1 }] }]',
      /prompts\[1\]\.id is a duplicate/,
    ],
  ])('PROMPTS_FILE does not let a service start with a fault: %s', async (content, message) => {
    const faulty = join(folder, 'faulty.yaml');
    await writeFile(faulty, content);
    await expect(startService({ environment: { PROMPTS_FILE: faulty } })).rejects.toThrow(message);
  });
});
