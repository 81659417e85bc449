/** What floors answer: the same events and objects as the service, built by hand. */
import { DELTA, makeId, readTraffic, type Traffic } from '../traffic.ts';

/** An output item of a floor. */
export interface FloorItem {
  readonly id: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

/** An event of a stream. */
export interface FloorEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly [member: string]: unknown;
}

/** The request members that a floor reads. */
export interface FloorRequest {
  readonly model: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Snapshots of a Response for the events of its stream. */
export interface Snapshots {
  /** Before the first delta; called for each event with a snapshot. */
  started(): object;
  /** After the last delta, with its one output item and that item's text. */
  completed(item: FloorItem, text: string, usage: object): object;
}

/** The snapshots of a bare floor. */
export function bareSnapshots({ model, metadata }: FloorRequest): Snapshots {
  const start = { id: makeId('resp'), createdAt: Math.floor(Date.now() / 1000), model, metadata };
  return {
    started: () => toSnapshot({ ...start, status: 'in_progress', output: [], usage: null }),
    completed: (item, _text, usage) => toSnapshot({ ...start, status: 'completed', output: [item], usage }),
  };
}

/** The Response to a request without streaming. */
export function toJsonAnswer(
  request: FloorRequest,
  { deltas } = readTraffic(request.metadata),
  text = DELTA.repeat(deltas),
): object {
  const item = toMessage(makeId('msg'), toOutputText(text));
  return { ...bareSnapshots(request).completed(item, text, toUsage(8, deltas)), output_text: text };
}

const NO_TOKENS = { image_tokens: 0, text_tokens: 0 };

/** Usage of hosted tools, which is the same in every response. */
export const TOOL_USAGE = {
  image_gen: {
    input_tokens: 0,
    input_tokens_details: NO_TOKENS,
    output_tokens: 0,
    output_tokens_details: NO_TOKENS,
    total_tokens: 0,
  },
  web_search: { num_requests: 0 },
};

/** The members that differ between snapshots and responses. */
interface FloorState extends FloorRequest {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly status: 'in_progress' | 'completed';
  readonly output: readonly object[];
  readonly usage: object | null;
}

/** All members that the service sends. */
function toSnapshot({ id, createdAt, model, metadata, status, output, usage }: FloorState): object {
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status,
    completed_at: status === 'completed' ? createdAt : null,
    error: null,
    incomplete_details: null,
    service_tier: status === 'in_progress' ? 'auto' : 'default',
    output,
    usage,
    tool_usage: TOOL_USAGE,
    access_programs: null,
    background: false,
    frequency_penalty: 0,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata,
    model,
    moderation: null,
    parallel_tool_calls: true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: null,
    prompt_cache_retention: null,
    reasoning: { context: 'all_turns', effort: null, mode: 'standard', summary: null },
    safety_identifier: null,
    store: true,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    user: null,
  };
}

/** The usage of a response. */
export function toUsage(inputTokens: number, outputTokens: number): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

/** A part of a message of the model. */
export function toOutputText(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** A finished message of the model. */
export function toMessage(id: string, part: object): FloorItem {
  return { id, type: 'message', status: 'completed', role: 'assistant', content: [part] };
}

/** One response as events, with the members that the service sends. */
export class FloorResponse {
  private readonly snapshots: Snapshots;
  private readonly itemId = makeId('msg');
  private sequenceNumber = 0;
  private text = '';

  constructor(snapshots: Snapshots) {
    this.snapshots = snapshots;
  }

  /** The events before the first delta. */
  open(): FloorEvent[] {
    const item = { id: this.itemId, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    return [
      { type: 'response.created', sequence_number: this.sequenceNumber++, response: this.snapshots.started() },
      { type: 'response.in_progress', sequence_number: this.sequenceNumber++, response: this.snapshots.started() },
      { type: 'response.output_item.added', sequence_number: this.sequenceNumber++, output_index: 0, item },
      this.toTextEvent('response.content_part.added', { part: toOutputText('') }),
    ];
  }

  /** The event of the next delta. */
  delta(delta = DELTA): FloorEvent {
    this.text += delta;
    return {
      type: 'response.output_text.delta',
      sequence_number: this.sequenceNumber++,
      item_id: this.itemId,
      output_index: 0,
      content_index: 0,
      logprobs: [],
      delta,
    };
  }

  /** The events after the last delta. */
  close(outputTokens: number): FloorEvent[] {
    const { text } = this;
    const part = toOutputText(text);
    const item = toMessage(this.itemId, part);
    return [
      this.toTextEvent('response.output_text.done', { text, logprobs: [] }),
      this.toTextEvent('response.content_part.done', { part }),
      { type: 'response.output_item.done', sequence_number: this.sequenceNumber++, output_index: 0, item },
      {
        type: 'response.completed',
        sequence_number: this.sequenceNumber++,
        response: this.snapshots.completed(item, text, toUsage(8, outputTokens)),
      },
    ];
  }

  private toTextEvent(type: string, members: object): FloorEvent {
    const [number, id] = [this.sequenceNumber++, this.itemId];
    return { type, sequence_number: number, item_id: id, output_index: 0, content_index: 0, ...members };
  }
}

/** Sends a streamed answer, with one write per turn of the event loop: the first turn opens the answer, the last one only closes it. */
export function stream(
  { deltas, burst }: Traffic,
  snapshots: Snapshots,
  write: (events: readonly FloorEvent[], isLast: boolean) => void,
): void {
  const response = new FloorResponse(snapshots);
  let sent = 0;
  const sendTurn = (): void => {
    if (sent === deltas) {
      write(response.close(deltas), true);
      return;
    }
    const events = sent === 0 ? response.open() : [];
    for (const end = Math.min(sent + burst, deltas); sent < end; sent++) events.push(response.delta());
    write(events, false);
    setImmediate(sendTurn);
  };
  sendTurn();
}
