import type { Api, Json, StreamEvent } from './api.ts';
import type { LaneSocket } from './socket.ts';

/** How a turn is asked for. */
export type Transport = 'json' | 'sse' | 'websocket';

/** What a turn was asked with, exactly as sent; on a socket without the type of the frame and its lane. */
export interface Asked {
  readonly transport: Transport;
  readonly body: Readonly<Record<string, Json>>;
}

/** A turn as its events tell it: mutable, since a stream has many. `onChange` is called at most once per frame of the screen. */
export class Turn {
  readonly events: StreamEvent[] = [];
  response: Json;
  items: Json[] = [];
  error: string | undefined;
  isRunning = false;
  onChange = (): void => undefined;
  private readonly aborting = new AbortController();
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

  /** Reads a background response on from the last event that was seen. */
  attach(api: Api): Promise<void> {
    const path = `responses/${this.response.id}`;
    const after = this.events.findLast((event) => event.sequence_number !== undefined)?.sequence_number;
    const query = after === undefined ? '' : `&starting_after=${after}`;
    this.error = undefined;
    return this.read(api.events('GET', `${path}?stream=true${query}`, undefined, this.aborting.signal));
  }

  /** Ends the turn: one in the background by its route, another by closing its connection or interrupting it. */
  async cancel(api: Api, socket: LaneSocket): Promise<void> {
    if (this.asked.body['background'] === true && this.response !== undefined) {
      this.take({
        type: 'response.cancelled',
        response: await api.json('POST', `responses/${this.response.id}/cancel`),
      });
    } else if (this.asked.transport === 'websocket') {
      await this.interrupt(socket);
      return;
    }
    this.aborting.abort();
  }

  /** Gives a turn on a socket more input. */
  steer(socket: LaneSocket, input: string): Promise<void> {
    return socket.send({ type: 'response.steer', previous_response_id: this.response.id, input });
  }

  /** Ends a turn on a socket, and keeps the items that are complete. */
  interrupt(socket: LaneSocket): Promise<void> {
    return socket.send({ type: 'response.interrupt', response_id: this.response.id, mode: 'discard_partial_items' });
  }

  private async *whole(api: Api, body: object): AsyncGenerator<StreamEvent> {
    const response = await api.json('POST', 'responses', body, this.aborting.signal);
    yield { type: `response.${response.status}`, response };
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
      this.change();
    }
  }

  private take(event: StreamEvent): void {
    this.events.push(event);
    const { type, output_index: index } = event;
    if (event['response'] !== undefined) {
      this.response = event['response'];
      if (this.response.output?.length > 0) this.items = [...this.response.output];
      if (this.response.status === 'failed') this.error = this.response.error?.message;
    } else if (type === 'error' || type.endsWith('.failed')) {
      this.error = event['error']?.message ?? event['message'];
    } else if (type === 'response.output_item.added' || type === 'response.output_item.done') {
      this.items[index] = event['item'];
    } else if (event['delta'] !== undefined && this.items[index] !== undefined) {
      this.append(this.items[index], event);
    }
    this.change();
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
