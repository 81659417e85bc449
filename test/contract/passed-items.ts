import type { ModelEvent } from '../../src/index.js';

/** What an upstream's item becomes on every transport. */
export interface PassedItemCase {
  readonly name: string;
  readonly events: readonly ModelEvent[];
  /** The output, without its ids. */
  readonly output: readonly object[];
  /** What streams say, by the end of the types of their events. */
  readonly deltas?: readonly (readonly [type: string, delta: string])[];
  readonly status?: string;
  /** The types of all events of a stream between `in_progress` and the end. */
  readonly types?: readonly string[];
}

type Item = { readonly type: string } & Readonly<Record<string, unknown>>;

const MESSAGE_ID = 'msg_0a1b2c3d4e5f60718293a4b5c6d7e8f9aabbccdd';

/** A message of an upstream with these parts, in its final form. */
export const message = (...content: readonly object[]): Item => ({
  id: MESSAGE_ID,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  phase: 'final_answer',
  content,
});

/** A text part. */
export const text = (said: string, more: object = {}): object => ({
  type: 'output_text',
  text: said,
  annotations: [],
  logprobs: [],
  ...more,
});

/** Opens an item as upstreams do, before it has any content. */
export const open = (item: Item, key = 'k'): ModelEvent => {
  const empty = { content: [], summary: [], arguments: '', input: '' };
  const members = Object.entries(item).map(([name, value]) => [name, Object.hasOwn(empty, name) ? [] : value]);
  return {
    type: 'item.open',
    key,
    item: { ...(Object.fromEntries(members) as Item), ...pick(empty, item), status: 'in_progress' },
  };
};

/** Ends an item in its final form. */
export const close = (item: Item, key = 'k'): ModelEvent => ({ type: 'item.close', key, item });

/** Opens an item, says what is said of it, and ends it. */
export const pass = (item: Item, ...said: readonly object[]): readonly ModelEvent[] => [
  open(item),
  ...said.map((event) => ({ ...event, key: 'k' }) as ModelEvent),
  close(item),
];

const citation = { type: 'url_citation', url: 'https://a.test/', title: 'A', start_index: 0, end_index: 2 };
const logprob = { token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs: [] };
const said = (delta: string, more: object = {}): object => ({ type: 'text', delta, ...more });

const whole = message(text('Hi there.'));
const rich = message(text('Hi', { annotations: [citation, { ...citation, title: 'B' }], logprobs: [logprob] }));
const twoTexts = message(text('One. '), text('Two.'));
const odd = message({ type: 'hologram', beams: [1, 2] }, text('So.'), { type: 'refusal', refusal: 'No.' });

const reasoning: Item = {
  id: 'rs_0a1b2c3d4e5f60718293a4b5c6d7e8f9aabbccdd',
  type: 'reasoning',
  summary: [
    { type: 'summary_text', text: 'First' },
    { type: 'summary_text', text: 'Then' },
  ],
  content: [
    { type: 'reasoning_text', text: 'Hm. ' },
    { type: 'reasoning_text', text: 'So.' },
  ],
  encrypted_content: 'gAAAA=',
};

const functionCall: Item = {
  id: 'fc_0a1b2c3d4e5f60718293a4b5c6d7e8f9aabbccdd',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_1',
  name: 'look',
  namespace: 'maps',
  caller: { type: 'direct' },
  arguments: '{"city":"Lisbon"}',
};

const customCall: Item = {
  id: 'ctc_0a1b2c3d4e5f60718293a4b5c6d7e8f9aabbccdd',
  type: 'custom_tool_call',
  status: 'completed',
  call_id: 'call_2',
  name: 'run',
  input: 'ls -l',
};

const textTypes = (...deltas: readonly string[]): readonly string[] => [
  'output_item.added',
  'content_part.added',
  ...deltas.map(() => 'output_text.delta'),
  'output_text.done',
  'content_part.done',
  'output_item.done',
];

/** Items of upstreams, and what becomes of them. */
export const PASSED_ITEMS: readonly PassedItemCase[] = [
  {
    name: 'a message that is streamed',
    events: pass(whole, said('Hi '), said('there.')),
    output: [whole],
    deltas: [
      ['output_text', 'Hi '],
      ['output_text', 'there.'],
    ],
    types: textTypes('Hi ', 'there.'),
  },
  {
    name: 'a message that comes at once',
    events: pass(whole),
    output: [whole],
    deltas: [['output_text', 'Hi there.']],
    types: textTypes('Hi there.'),
  },
  {
    name: 'a message whose end is not streamed',
    events: pass(whole, said('Hi th')),
    output: [whole],
    deltas: [
      ['output_text', 'Hi th'],
      ['output_text', 'ere.'],
    ],
  },
  {
    name: 'a message with citations and probabilities, some of them streamed',
    events: pass(rich, said('H'), { type: 'annotation', annotation: citation }),
    output: [rich],
    deltas: [
      ['output_text', 'H'],
      ['output_text', 'i'],
    ],
    types: [
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.annotation.added',
      'output_text.delta',
      'output_text.annotation.added',
      'output_text.done',
      'content_part.done',
      'output_item.done',
    ],
  },
  {
    name: 'a message with two texts',
    events: pass(twoTexts, said('One. ', { part: 0 }), said('Tw', { part: 1 }), said('o.', { part: 1 })),
    output: [twoTexts],
    deltas: [
      ['output_text', 'One. '],
      ['output_text', 'Tw'],
      ['output_text', 'o.'],
    ],
  },
  {
    name: 'a message with a part that no one knows',
    events: pass(odd),
    output: [odd],
    deltas: [
      ['output_text', 'So.'],
      ['refusal', 'No.'],
    ],
  },
  {
    name: 'a message without the lists that SDKs expect',
    events: pass(message({ type: 'output_text', text: 'Hi', logprobs: null })),
    output: [message(text('Hi'))],
  },
  {
    name: 'an empty message',
    events: pass(message()),
    output: [message()],
    types: ['output_item.added', 'output_item.done'],
  },
  {
    name: 'reasoning that is streamed',
    events: pass(
      reasoning,
      { type: 'reasoning_summary', delta: 'First', part: 0 },
      { type: 'reasoning_summary', delta: 'Th', part: 1 },
      { type: 'reasoning', delta: 'Hm. ', part: 0 },
      { type: 'reasoning', delta: 'So.', part: 1 },
    ),
    output: [reasoning],
    deltas: [
      ['reasoning_summary_text', 'First'],
      ['reasoning_summary_text', 'Th'],
      ['reasoning_text', 'Hm. '],
      ['reasoning_text', 'So.'],
      ['reasoning_summary_text', 'en'],
    ],
  },
  {
    name: 'reasoning that comes at once',
    events: pass(reasoning),
    output: [reasoning],
    deltas: [
      ['reasoning_summary_text', 'First'],
      ['reasoning_summary_text', 'Then'],
      ['reasoning_text', 'Hm. '],
      ['reasoning_text', 'So.'],
    ],
  },
  {
    name: 'a call of a function, and one of a custom tool side by side',
    events: [
      open(functionCall, 'f'),
      open(customCall, 'c'),
      { type: 'function_call_arguments', key: 'f', delta: '{"city":' },
      { type: 'custom_tool_call_input', key: 'c', delta: 'ls' },
      close(customCall, 'c'),
      close(functionCall, 'f'),
    ],
    output: [functionCall, customCall],
    deltas: [
      ['function_call_arguments', '{"city":'],
      ['custom_tool_call_input', 'ls'],
      ['custom_tool_call_input', ' -l'],
      ['function_call_arguments', '"Lisbon"}'],
    ],
  },
  {
    name: 'a call that comes at once',
    events: pass(functionCall),
    output: [functionCall],
    deltas: [['function_call_arguments', '{"city":"Lisbon"}']],
  },
  {
    name: 'a message that is cut',
    events: [
      open(message()),
      { type: 'text', key: 'k', delta: 'Hi' },
      { type: 'finish', reason: 'length', incompleteReason: 'max_messages', serviceTier: 'flex' },
    ],
    output: [{ ...message(text('Hi')), status: 'incomplete' }],
    status: 'incomplete',
  },
  {
    name: 'a call whose item goes on after it was incomplete upstream',
    events: pass({ ...functionCall, status: 'incomplete', arguments: '{"ci' }),
    output: [{ ...functionCall, status: 'incomplete', arguments: '{"ci' }],
  },
];

/** Final forms that contradict what was streamed: the items follow them. */
export const CONTRADICTIONS: readonly PassedItemCase[] = [
  {
    name: 'another text',
    events: pass(whole, said('Bye.')),
    output: [whole],
    deltas: [['output_text', 'Bye.']],
    types: textTypes('Bye.'),
  },
  { name: 'fewer parts', events: pass(whole, said('Hi there.'), { type: 'refusal', delta: 'No.' }), output: [whole] },
  {
    name: 'parts of another type',
    events: pass(message({ type: 'hologram' }), said('Hi.')),
    output: [message({ type: 'hologram' })],
  },
  {
    name: 'a refusal in place of a text',
    events: pass(message({ type: 'refusal', refusal: 'No.' }, text('Hi.')), said('Hi.')),
    output: [message({ type: 'refusal', refusal: 'No.' }, text('Hi.'))],
  },
  {
    name: 'other reasoning',
    events: pass(reasoning, { type: 'reasoning', delta: 'Oh.' }, { type: 'reasoning_summary', delta: 'Last' }),
    output: [reasoning],
  },
  {
    name: 'reasoning with parts that SDKs do not expect',
    events: pass({ ...reasoning, content: [{ type: 'hologram' }, { type: 'reasoning_text', text: 'So.' }] }),
    output: [{ ...reasoning, content: [{ type: 'hologram' }, { type: 'reasoning_text', text: 'So.' }] }],
  },
  {
    name: 'other arguments',
    events: pass(functionCall, { type: 'function_call_arguments', delta: '[]' }),
    output: [functionCall],
    deltas: [['function_call_arguments', '[]']],
  },
];

function pick(from: object, like: object): object {
  return Object.fromEntries(Object.entries(from).filter(([member]) => Object.hasOwn(like, member)));
}
