import type { UpstreamItem } from './items.js';

/** An event of the upstream's stream. */
export interface UpstreamEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Events of an item beside those that follow from its final form; their indexes and ids are added. */
export type OwnEvents = Readonly<Record<string, readonly UpstreamEvent[]>>;

/** What a whole answer says beside its items. */
export interface AnswerOptions {
  /** Members of the Response in its terminal event, such as `usage` or `service_tier`. */
  readonly response?: object;
  /** Type of the terminal event; `response.completed` when absent. */
  readonly terminal?: string;
  /** Events within an item, by the item's type. */
  readonly events?: OwnEvents;
}

/** The usage of answers that say nothing else. */
export const PLAIN_USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 3, cache_write_tokens: 1 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 18,
};

/** Members of a Response that the tests seldom look at. */
const PLAIN_RESPONSE = {
  object: 'response',
  created_at: 1_767_225_600,
  model: 'upstream-model',
  access_programs: null,
  background: false,
  completed_at: null,
  error: null,
  frequency_penalty: 0,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  moderation: null,
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  prompt_cache_retention: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'auto',
  store: false,
  temperature: 1,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tool_usage: {},
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
};

const STATUS_OF: Readonly<Record<string, string>> = {
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
};

/** A whole correct stream with these items, in the order of protocol §4, as the upstream numbers it. */
export function toEvents(
  responseId: string,
  items: readonly UpstreamItem[],
  { response = {}, terminal = 'response.completed', events = {} }: AnswerOptions = {},
): readonly UpstreamEvent[] {
  const head = { ...PLAIN_RESPONSE, id: responseId };
  const running = { ...head, status: 'in_progress', output: [], usage: null };
  const status = STATUS_OF[terminal] ?? 'completed';
  const last = {
    ...head,
    status,
    output: items,
    usage: PLAIN_USAGE,
    completed_at: status === 'completed' ? 1_767_225_601 : null,
    ...response,
  };
  const all = [
    { type: 'response.created', response: running },
    { type: 'response.in_progress', response: running },
    ...items.flatMap((item, index) => itemEvents(item, index, events[item.type] ?? [])),
    { type: terminal, response: last },
  ];
  return all.map((event, position) => ({ ...event, sequence_number: position }));
}

/** The events of one item. */
export function itemEvents(
  item: UpstreamItem,
  index: number,
  own: readonly UpstreamEvent[] = [],
): readonly UpstreamEvent[] {
  const place = { item_id: item.id, output_index: index };
  const within = [...(INNER[item.type]?.(item) ?? []), ...own];
  return [
    { type: 'response.output_item.added', output_index: index, item: opened(item) },
    ...within.map((event) => ({ ...event, ...place })),
    { type: 'response.output_item.done', output_index: index, item },
  ];
}

/** The item as `output_item.added` shows it: nothing said yet. */
function opened(item: UpstreamItem): UpstreamItem {
  const empty = { content: [], arguments: '', input: '', summary: [], status: 'in_progress' };
  const { encrypted_content: _encrypted, ...rest } = item;
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, EMPTIED.has(name) ? empty[name as keyof typeof empty] : value]),
  ) as UpstreamItem;
}

const EMPTIED: ReadonlySet<string> = new Set(['content', 'arguments', 'input', 'summary', 'status']);

type Part = Readonly<Record<string, unknown>> & { readonly type: string };

const INNER: Readonly<Record<string, (item: UpstreamItem) => readonly UpstreamEvent[]>> = {
  message: ({ content }) => (content as readonly Part[]).flatMap(partEvents),
  reasoning: ({ summary, content }) => [
    ...(summary as readonly Part[]).flatMap(summaryEvents),
    ...((content ?? []) as readonly Part[]).flatMap(partEvents),
  ],
  function_call: ({ arguments: text }) => [
    ...pieces(text).map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
    { type: 'response.function_call_arguments.done', arguments: text },
  ],
  custom_tool_call: ({ input }) => [
    ...pieces(input).map((delta) => ({ type: 'response.custom_tool_call_input.delta', delta })),
    { type: 'response.custom_tool_call_input.done', input },
  ],
};

/** Events of a part by its type: the name in the events, and the member that holds its text. */
const PARTS: Readonly<Record<string, readonly [event: string, member: string]>> = {
  output_text: ['output_text', 'text'],
  refusal: ['refusal', 'refusal'],
  reasoning_text: ['reasoning_text', 'text'],
};

function partEvents(part: Part, index: number): readonly UpstreamEvent[] {
  const [name, member] = PARTS[part.type] ?? ['output_text', 'text'];
  const at = { content_index: index };
  const annotations = (part['annotations'] ?? []) as readonly object[];
  const logprobs = part['logprobs'] as readonly object[] | undefined;
  const empty = { ...part, [member]: '', ...(annotations.length > 0 ? { annotations: [] } : {}) };
  return [
    { type: 'response.content_part.added', part: logprobs === undefined ? empty : { ...empty, logprobs: [] }, ...at },
    ...pieces(part[member]).map((delta, piece) => ({
      type: `response.${name}.delta`,
      delta,
      ...(logprobs === undefined ? {} : { logprobs: piece === 0 ? logprobs : [] }),
      ...at,
    })),
    ...annotations.map((annotation, position) => ({
      type: 'response.output_text.annotation.added',
      annotation_index: position,
      annotation,
      ...at,
    })),
    {
      type: `response.${name}.done`,
      [member]: part[member],
      ...(logprobs === undefined ? {} : { logprobs }),
      ...at,
    },
    { type: 'response.content_part.done', part, ...at },
  ];
}

function summaryEvents(part: Part, index: number): readonly UpstreamEvent[] {
  const at = { summary_index: index };
  return [
    { type: 'response.reasoning_summary_part.added', part: { ...part, text: '' }, ...at },
    ...pieces(part['text']).map((delta) => ({ type: 'response.reasoning_summary_text.delta', delta, ...at })),
    { type: 'response.reasoning_summary_text.done', text: part['text'], ...at },
    { type: 'response.reasoning_summary_part.done', part, ...at },
  ];
}

/** A text in two pieces, if it has that many characters. */
function pieces(text: unknown): readonly string[] {
  const whole = String(text);
  const middle = Math.ceil(whole.length / 2);
  return [whole.slice(0, middle), whole.slice(middle)].filter((piece) => piece !== '');
}

/** The first event of an answer, with no more than its id. */
export function created(id: string): UpstreamEvent {
  return { type: 'response.created', response: { id } };
}
