import type { Api, Json, StreamEvent } from './api.ts';
import type { LaneSocket } from './socket.ts';

/** How a turn is asked for. */
export type Transport = 'json' | 'sse' | 'websocket';

/** What a turn was asked with, exactly as sent; on a socket without the type of the frame and its lane. */
export interface Asked {
  readonly transport: Transport;
  readonly body: Readonly<Record<string, Json>>;
}

/** An event, and when it came, ms since the epoch. */
export interface TimedEvent {
  readonly event: StreamEvent;
  readonly at: number;
}

/** Pause between two looks at a background response that has no stream, ms. */
const LOOK_AGAIN_MS = 1000;

/** A turn as its events tell it: mutable, since a stream has many. `onChange` is called at most once per frame of the screen. */
export class Turn {
  readonly events: TimedEvent[] = [];
  response: Json;
  /** The output of `response`. */
  items: Json[] = [];
  /** What came before it in this turn: the output of responses that were steered, and what steered them. */
  earlier: readonly Json[] = [];
  error: string | undefined;
  isRunning = false;
  isCancelled = false;
  onChange = (): void => undefined;
  /** When it was asked for, ms since the epoch. */
  readonly startedAt = Date.now();
  private steers: Json[] = [];
  /** Resolves with the first response, or when there will be none. */
  private readonly begun = Promise.withResolvers<undefined>();
  private aborting = new AbortController();
  private isFrameAsked = false;

  constructor(readonly asked: Asked) {}

  /** Asks for the turn, and reads it to its end. */
  run(api: Api, socket: LaneSocket, lane: string): Promise<void> {
    const { transport, body } = this.asked;
    const { signal } = this.aborting;
    if (transport === 'websocket') return this.read(socket.run(lane, body));
    if (transport === 'sse') return this.read(api.events('POST', 'responses', body, signal));
    return this.read(this.whole(api, body));
  }

  private get isInBackground(): boolean {
    return this.asked.body['background'] === true;
  }

  /** Whether it is a background response whose stream was lost before its end. */
  get canAttach(): boolean {
    const isOpen = this.response?.status === 'queued' || this.response?.status === 'in_progress';
    return this.isInBackground && this.asked.body['stream'] === true && !this.isRunning && isOpen;
  }

  /** Whether its stream can be closed without an end of the response. */
  get isDetachable(): boolean {
    return this.isRunning && this.isInBackground && this.asked.body['stream'] === true && this.response !== undefined;
  }

  /** Reads a background response on from the last event that was seen. */
  attach(api: Api): Promise<void> {
    const after = this.events.findLast(({ event }) => event.sequence_number !== undefined)?.event.sequence_number;
    const query = after === undefined ? '' : `&starting_after=${after}`;
    this.error = undefined;
    this.aborting = new AbortController();
    const path = `responses/${this.response.id}?stream=true${query}`;
    return this.read(api.events('GET', path, undefined, this.aborting.signal));
  }

  /** Closes the stream of a background response, which goes on. */
  detach(): void {
    this.aborting.abort();
  }

  /** Ends the turn: one in the background by its route, another by closing its connection. */
  async cancel(api: Api): Promise<void> {
    // One in the background goes on without its connection: it ends by its id.
    if (this.isInBackground) await this.begun.promise;
    if (this.isInBackground && this.response !== undefined) {
      const response = await api.json('POST', `responses/${this.response.id}/cancel`);
      this.take({ type: `response.${response.status}`, response });
    }
    this.isCancelled = true;
    this.aborting.abort();
  }

  /** Ends it where nobody looks at it any more; what runs in the background goes on. */
  async leave(api: Api, socket: LaneSocket): Promise<void> {
    if (!this.isRunning) return;
    if (this.isInBackground) this.detach();
    else if (this.asked.transport !== 'websocket') await this.cancel(api);
    else if (this.response !== undefined) await this.interrupt(socket);
  }

  /** Gives a turn on a socket more input: a text, or messages. Rejects when it is over. */
  async steer(socket: LaneSocket, input: Json): Promise<void> {
    await socket.steer(this.response.id, input);
    this.steers.push(...toItems(input));
  }

  /** Ends a turn on a socket, and keeps the items that are complete. Rejects when it is over. */
  interrupt(socket: LaneSocket): Promise<void> {
    return socket.interrupt(this.response.id);
  }

  private async *whole(api: Api, body: object): AsyncGenerator<StreamEvent> {
    const { signal } = this.aborting;
    let response = await api.json('POST', 'responses', body, signal);
    for (;;) {
      yield { type: `response.${response.status}`, response };
      if (response.status !== 'queued' && response.status !== 'in_progress') return;
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
      if (signal.aborted) return;
      response = await api.json('GET', `responses/${response.id}`, undefined, signal);
    }
  }

  private async read(events: AsyncIterable<StreamEvent>): Promise<void> {
    this.isRunning = true;
    this.change();
    try {
      for await (const event of events) this.take(event);
    } catch (error) {
      if (!this.aborting.signal.aborted) this.error = error instanceof Error ? error.message : String(error);
    } finally {
      this.isRunning = false;
      this.begun.resolve(undefined);
      this.change();
    }
  }

  private take(event: StreamEvent): void {
    this.events.push({ event, at: Date.now() });
    const { type, output_index: index } = event;
    if (event['response'] !== undefined) {
      if (this.response !== undefined && this.response.id !== event['response'].id) this.succeed();
      this.response = event['response'];
      this.begun.resolve(undefined);
      if (this.response.output?.length > 0) this.items = structuredClone(this.response.output);
      if (this.response.status === 'failed') this.error = this.response.error?.message;
    } else if (type === 'error' || type === 'response.steer.failed') {
      this.error = event['error']?.message ?? event['message'];
    } else if (type === 'response.output_item.added' || type === 'response.output_item.done') {
      // Deltas are added to it, and the event stays as it came.
      this.items[index] = structuredClone(event['item']);
    } else if (event['delta'] !== undefined && this.items[index] !== undefined) {
      this.append(this.items[index], event);
    }
    this.change();
  }

  /** A response was steered, and another follows. */
  private succeed(): void {
    this.earlier = [...this.earlier, ...this.items.filter(Boolean), ...this.steers];
    this.items = [];
    this.steers = [];
  }

  private append(item: Json, { type, delta, content_index: content, summary_index: summary }: StreamEvent): void {
    if (type === 'response.function_call_arguments.delta') item.arguments = (item.arguments ?? '') + delta;
    const parts = type.startsWith('response.reasoning_summary') ? (item.summary ??= []) : (item.content ??= []);
    const index = content ?? summary;
    if (index === undefined) return;
    const part = (parts[index] ??= { type: /response\.(\w+)\.delta/.exec(type)?.[1], text: '' });
    if (type === 'response.refusal.delta') part.refusal = (part.refusal ?? '') + delta;
    else part.text = (part.text ?? '') + delta;
  }

  private change(): void {
    if (this.isFrameAsked) return;
    this.isFrameAsked = true;
    requestAnimationFrame(() => {
      this.isFrameAsked = false;
      this.onChange();
    });
  }
}

/** An input as items: a text is a message of the user. */
export function toItems(input: Json): readonly Json[] {
  const items: readonly Json[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return items.map((item) => ({ type: 'message', ...item }));
}
