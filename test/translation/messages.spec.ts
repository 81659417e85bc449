import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Translation } from '../support/translation/translation.js';
import { assistant, functionCall, functionOutput, user } from '../support/translation/user-items.js';

const developer = (content: unknown): object => ({ role: 'developer', content });
const system = (content: unknown): object => ({ role: 'system', content });

/** Instructions, then messages of both roles at the beginning and in the middle. */
const DIRECTED = {
  instructions: 'Be brief.',
  input: [
    developer('Use metres.'),
    system('Answer in French.'),
    user('Hello'),
    assistant('Salut'),
    system('Now German.'),
  ],
};

describe('messages for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({
      developer: { capabilities: { developer_role: true } },
      first: { capabilities: { system_role: 'first' } },
      first_developer: { capabilities: { system_role: 'first', developer_role: true } },
      none: { capabilities: { system_role: 'none' } },
      alternating: { capabilities: { system_role: 'first', role_order: 'alternating' } },
    });
  });

  afterAll(() => translation.close());

  it("an answer is asked for as a stream of the upstream's own model", async () => {
    expect(await translation.sent({ input: 'Hello' })).toEqual({
      model: 'upstream-model',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it.each<[string, unknown, unknown]>([
    ['a text', 'Hello', 'Hello'],
    ['an empty text', '', ''],
    ['one part', [{ type: 'input_text', text: 'Hello' }], 'Hello'],
    [
      'several parts',
      [
        { type: 'input_text', text: 'One' },
        { type: 'input_text', text: 'Two' },
      ],
      'One\nTwo',
    ],
    [
      'an empty part beside another',
      [
        { type: 'input_text', text: '' },
        { type: 'input_text', text: 'Hello' },
      ],
      'Hello',
    ],
    ['half a character, and its name', 'a\ud83d b\\ud83d \\\ude00 \u{1f600}', 'a\ufffd b\\ud83d \\\ufffd \u{1f600}'],
  ])('messages have their text in its shortest form: %s', async (_, content, sent) => {
    expect(await translation.messages({ input: [user(content)] })).toEqual([{ role: 'user', content: sent }]);
  });

  it.each<[what: string, empty: readonly object[]]>([
    ['the system', [system('')]],
    ['the developer', [developer([{ type: 'input_text', text: '' }])]],
    ['the assistant', [assistant('')]],
  ])('messages without a word are not sent: %s', async (_, empty) => {
    expect(await translation.messages({ input: [user('Hello'), ...empty, user('And?')] })).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'user', content: 'And?' },
    ]);
  });

  const picture = { type: 'input_image', image_url: 'https://example.com/a.png' };
  it.each<[what: string, input: readonly object[], sent: readonly object[]]>([
    [
      'two of the user, one of the system between, and an empty one between answers',
      [user('Hello'), system('Be brief.'), user('And?'), assistant('Yes.'), system(''), assistant('Sure.')],
      [{ role: 'user', content: 'Hello\n\nBe brief.\n\nAnd?' }, { role: 'assistant' }],
    ],
    [
      'pictures of the user',
      [user('Look:'), user([picture])],
      [{ role: 'user', content: [{ type: 'text', text: 'Look:' }, { type: 'image_url' }] }],
    ],
    [
      'an answer at the beginning',
      [system('Be brief.'), assistant('Hello'), user('Hi')],
      [{ role: 'system' }, { role: 'user', content: '(no message)' }, { role: 'assistant' }, { role: 'user' }],
    ],
    [
      'one of the user behind an output',
      [user('Look.'), functionCall('call_1', 'look'), functionOutput('call_1', 'sea'), user('And?')],
      [
        { role: 'user' },
        { role: 'assistant', tool_calls: [{}] },
        { role: 'tool' },
        { role: 'assistant', content: '(no message)' },
        { role: 'user', content: 'And?' },
      ],
    ],
  ])('messages alternate where the upstream demands it: %s', async (_, input, sent) => {
    expect(await translation.messages({ model: 'alternating', input })).toMatchObject(sent);
  });

  it('messages with calls and an empty text have none', async () => {
    const input = [user('Look.'), assistant(''), functionCall('call_1', 'look'), functionOutput('call_1', '')];
    expect(await translation.messages({ input })).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_1' }] },
      { role: 'tool', content: '' },
    ]);
  });

  it('messages keep words of any language and any length', async () => {
    const text = '👩‍👩‍👧‍👦 "quoted" \\ back\u0000slash\u2028 <|im_start|> '.repeat(5000);
    expect(await translation.messages({ input: text })).toEqual([{ role: 'user', content: text }]);
  });

  it('messages keep the order of a conversation', async () => {
    const input = [
      user('Hello'),
      assistant('Hi. Who are you?'),
      user('Ada.'),
      assistant('Welcome, Ada.'),
      user('Bye.'),
    ];
    expect(await translation.messages({ input })).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi. Who are you?' },
      { role: 'user', content: 'Ada.' },
      { role: 'assistant', content: 'Welcome, Ada.' },
      { role: 'user', content: 'Bye.' },
    ]);
  });

  it('messages tell the upstream what the model refused earlier', async () => {
    const content = [
      { type: 'output_text', text: 'One moment.', annotations: [] },
      { type: 'refusal', refusal: 'I will not.' },
    ];
    expect(
      await translation.messages({ input: [user('Do it.'), { role: 'assistant', content }, user('Why?')] }),
    ).toEqual([
      { role: 'user', content: 'Do it.' },
      { role: 'assistant', content: 'One moment.\nI will not.' },
      { role: 'user', content: 'Why?' },
    ]);
  });

  it('messages take replayed output items as they came', async () => {
    const { response } = await translation.turn(
      { input: 'Hello' },
      { reasoning: 'Hm.', text: 'Hi.', refusal: 'No more.' },
    );
    const input = [user('Hello'), ...(response['output'] as object[]), user('Go on.')];
    expect(await translation.messages({ input })).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.\nNo more.' },
      { role: 'user', content: 'Go on.' },
    ]);
  });

  it('messages tell the upstream what other agents of the client say', async () => {
    const agent = (...content: readonly object[]): object => ({
      type: 'agent_message',
      author: '/root',
      recipient: '/root/helper',
      content,
    });
    const input = [
      user('Hello'),
      agent({ type: 'input_text', text: 'Count the ' }, { type: 'input_text', text: 'files.' }),
      agent({ type: 'encrypted_content', encrypted_content: 'gAAAAABforeign' }),
      assistant('Three.'),
    ];
    expect(await translation.messages({ input })).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'user', content: 'Count the files.' },
      { role: 'assistant', content: 'Three.' },
    ]);
  });

  it.each(['compaction', 'compaction_summary'])(
    'a request is refused for what another service has compacted (%s)',
    async (type) => {
      const input = [{ type, encrypted_content: 'gAAAAABforeign' }, user('Go on.')];
      expect(await translation.refusal({ input })).toMatchObject({
        status: 400,
        wasAsked: false,
        error: { code: 'invalid_encrypted_content', param: 'input[0].encrypted_content' },
      });
    },
  );

  describe('of system and developer', () => {
    it('messages of the developer are all sent as system where there is no developer role', async () => {
      expect(await translation.messages(DIRECTED)).toEqual([
        { role: 'system', content: 'Be brief.' },
        { role: 'system', content: 'Use metres.' },
        { role: 'system', content: 'Answer in French.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Salut' },
        { role: 'system', content: 'Now German.' },
      ]);
    });

    it('messages of system and developer keep their roles where the upstream knows both', async () => {
      expect(await translation.messages({ ...DIRECTED, model: 'developer' })).toEqual([
        { role: 'developer', content: 'Be brief.' },
        { role: 'developer', content: 'Use metres.' },
        { role: 'system', content: 'Answer in French.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Salut' },
        { role: 'system', content: 'Now German.' },
      ]);
    });

    it.each([
      ['first', 'system'],
      ['first_developer', 'developer'],
    ])('messages of the developer are one message where only the first may be one (%s)', async (model, role) => {
      expect(await translation.messages({ ...DIRECTED, model })).toEqual([
        { role, content: 'Be brief.\n\nUse metres.\n\nAnswer in French.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Salut' },
        { role: 'user', content: 'Now German.' },
      ]);
    });

    it('messages of the developer are said by the user where there is no system role', async () => {
      expect(await translation.messages({ ...DIRECTED, model: 'none' })).toEqual([
        { role: 'user', content: 'Be brief.\n\nUse metres.\n\nAnswer in French.\n\nHello' },
        { role: 'assistant', content: 'Salut' },
        { role: 'user', content: 'Now German.' },
      ]);
    });

    it('messages of the developer are said by the user before what the model said where there is no system role', async () => {
      const input = [assistant('Salut'), user('Hello')];
      expect(await translation.messages({ model: 'none', instructions: 'Be brief.', input })).toEqual([
        { role: 'user', content: 'Be brief.' },
        { role: 'assistant', content: 'Salut' },
        { role: 'user', content: 'Hello' },
      ]);
    });

    it('messages of system and developer stand before the pictures of the user where there are no such roles', async () => {
      const input = [user([{ type: 'input_image', image_url: 'https://example.com/a.png' }])];
      expect(await translation.messages({ model: 'none', instructions: 'Be brief.', input })).toEqual([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Be brief.\n' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          ],
        },
      ]);
    });

    it.each(['first', 'none', 'generic'])('messages of system and developer lose no picture (%s)', async (model) => {
      const look = [
        { type: 'input_text', text: 'This is our logo.' },
        { type: 'input_image', image_url: 'https://example.com/a.png' },
      ];
      const input = [developer('Use metres.'), developer(look), user('Hello')];
      const text = JSON.stringify(await translation.messages({ model, input }));
      expect(text).toContain('This is our logo.');
      expect(text).toContain('https://example.com/a.png');
    });

    it.each(['first', 'none'])('messages of the developer may be all there is (%s)', async (model) => {
      const messages = await translation.messages({ model, input: [developer('Say hello.')] });
      expect(messages).toEqual([{ role: model === 'first' ? 'system' : 'user', content: 'Say hello.' }]);
    });
  });

  describe('and instructions', () => {
    it('messages begin with the instructions, and not with those of an earlier turn', async () => {
      const { response: first } = await translation.turn(
        { instructions: 'Be brief.', input: 'Hello' },
        { text: 'Hi.' },
      );
      const second = await translation.turn({ previous_response_id: first.id, input: 'And?' }, { text: 'Well.' });
      expect(second.body.messages).toEqual([
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi.' },
        { role: 'user', content: 'And?' },
      ]);
      const instructions = 'Be long.';
      expect(
        await translation.messages({ instructions, previous_response_id: second.response.id, input: 'So?' }),
      ).toEqual([
        { role: 'system', content: 'Be long.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi.' },
        { role: 'user', content: 'And?' },
        { role: 'assistant', content: 'Well.' },
        { role: 'user', content: 'So?' },
      ]);
    });

    it('messages inherit developer messages, which are items', async () => {
      const { response } = await translation.turn(
        { input: [developer('Use metres.'), user('Hello')] },
        { text: 'Hi.' },
      );
      expect(await translation.messages({ previous_response_id: response.id, input: 'And?' })).toEqual([
        { role: 'system', content: 'Use metres.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi.' },
        { role: 'user', content: 'And?' },
      ]);
    });

    it('empty instructions are not sent', async () => {
      expect(await translation.messages({ instructions: '', input: 'Hello' })).toEqual([
        { role: 'user', content: 'Hello' },
      ]);
    });
  });
});
