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

/** The members of a request from which a Response is made; bare floors have requests without the optional ones. */
export interface FloorRequest {
  readonly model: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly tools?: readonly object[] | null;
  readonly reasoning?: { readonly [member in 'context' | 'effort' | 'mode' | 'summary']?: unknown } | null;
  readonly text?: { readonly format?: unknown; readonly verbosity?: unknown } | null;
  readonly [member: string]: unknown;
}

/** Snapshots of a Response for the events of its stream. */
export interface Snapshots {
  /** Before the first delta; called for each event with a snapshot. */
  started(): object;
  /** After the last delta, with its one output item and that item's text. */
  completed(item: FloorItem, text: string, usage: object): object;
}

/** The snapshots of a bare floor. */
export function bareSnapshots(request: FloorRequest): Snapshots {
  const id = makeId('resp');
  const createdAt = Math.floor(Date.now() / 1000);
  return {
    started: () => toResponse(request, id, createdAt),
    completed: (item, _text, usage) => complete(toResponse(request, id, createdAt), item, usage, createdAt),
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
const TOOL_USAGE = {
  image_gen: {
    ...{ input_tokens: 0, input_tokens_details: NO_TOKENS },
    ...{ output_tokens: 0, output_tokens_details: NO_TOKENS },
    total_tokens: 0,
  },
  web_search: { num_requests: 0 },
};

/** A Response with its mutable members. */
export interface FloorSnapshot {
  readonly id: string;
  status: 'in_progress' | 'completed';
  /** Unix seconds. */
  completed_at: number | null;
  service_tier: unknown;
  output: readonly object[];
  usage: object | null;
  readonly [member: string]: unknown;
}

/** Completes a Response. */
export function complete(response: FloorSnapshot, item: FloorItem, usage: object, at: number): FloorSnapshot {
  response.status = 'completed';
  response.completed_at = at;
  if (response.service_tier === 'auto') response.service_tier = 'default';
  response.output = [item];
  response.usage = usage;
  return response;
}

/** The initial Response of a request, with all members that the service sends and their defaults. */
export function toResponse(request: FloorRequest, id: string, createdAt: number): FloorSnapshot {
  const { reasoning, text } = request;
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    service_tier: request.service_tier ?? 'auto',
    output: [],
    usage: null,
    tool_usage: TOOL_USAGE,
    access_programs: request.access_programs ?? null,
    background: false,
    frequency_penalty: request.frequency_penalty ?? 0,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata,
    model: request.model,
    moderation: null,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    presence_penalty: request.presence_penalty ?? 0,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: request.prompt_cache_retention ?? null,
    reasoning: {
      context: reasoning?.context ?? 'all_turns',
      effort: reasoning?.effort ?? null,
      mode: reasoning?.mode ?? 'standard',
      summary: reasoning?.summary ?? null,
    },
    safety_identifier: request.safety_identifier ?? null,
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { format: text?.format ?? { type: 'text' }, verbosity: text?.verbosity ?? 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools?.map(showEveryMember) ?? [],
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    user: request.user ?? null,
  };
}

function showEveryMember(tool: object): object {
  if (!('type' in tool) || tool.type !== 'function') return tool;
  return { description: null, parameters: null, strict: false, output_schema: null, ...tool };
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

/** An answer, as events or frames of its protocol. */
export interface StreamedAnswer<Frame> {
  open(): readonly Frame[];
  delta(text?: string): Frame;
  close(deltas: number): readonly Frame[];
}

/** Sends a streamed answer, with one write per burst: the first one opens the answer, the last one only closes it. */
export function stream<Frame>(
  { deltas, burst, pauseMs = 0 }: Traffic,
  answer: StreamedAnswer<Frame>,
  write: (frames: readonly Frame[], isLast: boolean) => void,
  makeDelta?: () => string,
): void {
  let sent = 0;
  const sendTurn = (): void => {
    if (sent === deltas) {
      write(answer.close(deltas), true);
      return;
    }
    const frames = sent === 0 ? [...answer.open()] : [];
    for (const end = Math.min(sent + burst, deltas); sent < end; sent++) frames.push(answer.delta(makeDelta?.()));
    write(frames, false);
    if (pauseMs === 0 || sent === deltas) setImmediate(sendTurn);
    // Random pauses are realistic, and keep streams from staying synchronised after a delay of the server.
    else setTimeout(sendTurn, pauseMs * (0.5 + Math.random()));
  };
  sendTurn();
}
