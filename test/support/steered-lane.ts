import { checkEventOrder, type WireEvent } from '../../src/testing/index.js';
import { isEnd, type SocketClient } from './socket-client.js';
import type { WireResponse } from './transport.js';

/** One lane of a socket: turns, and what is asked of them while they run. */
export class SteeredLane {
  /** The events of the response that runs or has ended last. */
  private events: WireEvent[] = [];

  constructor(
    readonly client: SocketClient,
    readonly streamId?: string,
  ) {}

  create(body: object): void {
    this.client.create({
      input: 'Begin',
      ...body,
      ...(this.streamId === undefined ? {} : { stream_id: this.streamId }),
    });
  }

  /** The Response of the next `response.created`. */
  async created(): Promise<WireResponse> {
    const event = await this.client.nextOf(this.streamId);
    if (event.type !== 'response.created') throw new Error(`expected a response, not ${JSON.stringify(event)}`);
    this.events = [event];
    return event['response'] as WireResponse;
  }

  /** The next event of a type; those before it are kept for the check of the whole response. */
  async until(type: string): Promise<WireEvent> {
    for (;;) {
      const event = await this.client.nextOf(this.streamId);
      this.events.push(event);
      if (event.type === type) return event;
      if (isEnd(event)) throw new Error(`expected ${type}, not ${JSON.stringify(event)}`);
    }
  }

  /** Reads up to the end of the response, and checks the order of all its events. */
  async end(): Promise<WireResponse> {
    for (;;) {
      const event = await this.client.nextOf(this.streamId);
      this.events.push(event);
      if (!isEnd(event)) continue;
      checkEventOrder(
        this.events.map(({ stream_id: _, ...rest }) => rest),
        { transport: 'ws' },
      );
      return event['response'] as WireResponse;
    }
  }

  /** The types of the events so far. */
  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  steer(responseId: string, input: unknown = 'Left!'): void {
    this.client.send({ type: 'response.steer', previous_response_id: responseId, input });
  }

  interrupt(responseId: string): void {
    this.client.send({ type: 'response.interrupt', response_id: responseId, mode: 'discard_partial_items' });
  }

  /** The next frame of the lane, which belongs to no response. */
  next(): Promise<WireEvent> {
    return this.client.nextOf(this.streamId);
  }
}
