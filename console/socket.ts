import { type Api, ApiFailure, type StreamEvent } from './api.ts';
import { TEXTS } from './texts.ts';

type Listener = (event: StreamEvent | undefined) => void;

/** A steer or an interrupt that was sent and is not answered yet. */
interface SentFrame {
  readonly kind: 'steer' | 'interrupt';
  /** The response that it is about. */
  readonly responseId: string;
  readonly answered: PromiseWithResolvers<undefined>;
}

/** One WebSocket for the lanes of the page, opened with the first turn and again after it was closed. */
export class LaneSocket {
  private opened: Promise<WebSocket> | undefined;
  private readonly lanes = new Map<string, Listener>();
  /** In the order in which they were sent, which is that of the answers to one response. */
  private readonly sent = new Set<SentFrame>();
  /** Why the service closes the socket, where it has said so. */
  private farewell: string | undefined;

  constructor(private readonly api: Api) {}

  /**
   * Runs a turn on a lane, and gives its events and those of the responses that steers make of it. Rejects with ApiFailure.
   *
   * A response that its model ended before a steer was applied is followed by another one all the same: the turn is over when no accepted
   * steer waits any more.
   */
  async *run(lane: string, request: object): AsyncGenerator<StreamEvent> {
    const socket = await this.open();
    const received: (StreamEvent | undefined)[] = [];
    let wake = (): void => undefined;
    this.lanes.set(lane, (event) => {
      received.push(event);
      wake();
    });
    socket.send(JSON.stringify({ type: 'response.create', stream_id: lane, ...request }));
    const steers = new Set<string>();
    let hasEnded = false;
    try {
      for (;;) {
        while (received.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        const event = received.shift();
        if (event === undefined) throw new ApiFailure(0, this.farewell ?? TEXTS.socketClosed);
        const { type } = event;
        if (type === 'error') throw new ApiFailure(event['status'] ?? 0, event['error']?.message ?? type);
        yield event;
        if (type === 'response.steer.accepted') steers.add(event['steer'].id);
        else if (type === 'response.steer.pending' || type === 'response.steer.failed')
          steers.delete(event['steer'].id);
        else if (type === 'response.created') {
          steers.clear();
          hasEnded = false;
        } else if (/^response\.(?:completed|failed|incomplete|cancelled)$/.test(type)) hasEnded = true;
        if (hasEnded && steers.size === 0) return;
      }
    } finally {
      this.lanes.delete(lane);
    }
  }

  /** Gives a running response more input. Rejects with ApiFailure when it has ended, or cannot be steered. */
  steer(responseId: string, input: unknown): Promise<void> {
    return this.send('steer', responseId, { previous_response_id: responseId, input });
  }

  /** Ends a running response, and keeps the items that are complete. Rejects with ApiFailure when it has ended. */
  interrupt(responseId: string): Promise<void> {
    return this.send('interrupt', responseId, { response_id: responseId, mode: 'discard_partial_items' });
  }

  /** Closes the socket, if it is open. */
  close(): void {
    void this.opened?.then((socket) => socket.close()).catch(() => undefined);
  }

  private async send(kind: SentFrame['kind'], responseId: string, members: object): Promise<void> {
    const socket = await this.open();
    const frame = { kind, responseId, answered: Promise.withResolvers<undefined>() };
    this.sent.add(frame);
    socket.send(JSON.stringify({ type: `response.${kind}`, ...members }));
    return frame.answered.promise;
  }

  private open(): Promise<WebSocket> {
    this.opened ??= this.connect().catch((error: unknown) => {
      this.opened = undefined;
      throw error;
    });
    return this.opened;
  }

  /** Pages cannot send headers with a socket: it is opened with a token that the key is good for. */
  private async connect(): Promise<WebSocket> {
    const token = await this.api.json('POST', 'socket_tokens', { origin: location.origin });
    const url = `${this.api.base.replace(/^http/, 'ws')}/responses`;
    const socket = new WebSocket(url, ['antiphon', `antiphon.token.${token.value}`]);
    this.farewell = undefined;
    socket.onmessage = ({ data }) => this.receive(JSON.parse(String(data)) as StreamEvent);
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onclose = () => reject(new ApiFailure(0, this.farewell ?? TEXTS.socketNotOpened));
    });
    socket.onclose = () => {
      this.opened = undefined;
      for (const listener of this.lanes.values()) listener(undefined);
      for (const { answered } of this.sent) answered.reject(new ApiFailure(0, this.farewell ?? TEXTS.socketClosed));
      this.sent.clear();
    };
    return socket;
  }

  /** An event without a lane is about the socket, or answers what was sent about a response that is unknown by now. */
  private receive(event: StreamEvent): void {
    this.answer(event);
    if (event.stream_id !== undefined) this.lanes.get(event.stream_id)?.(event);
    else if (event.type === 'error') this.farewell = event['error']?.message;
  }

  /** Settles the first frame that an event may answer. A steer that fails after it was accepted has an id. */
  private answer({ type, steer, response_id: interrupted, error }: StreamEvent): void {
    const [, kind, outcome] = /^response\.(steer|interrupt)\.(accepted|failed)$/.exec(type) ?? [];
    if (kind === undefined || (outcome === 'failed' && steer?.id !== undefined)) return;
    const responseId = steer?.previous_response_id ?? interrupted;
    const frame = [...this.sent].find((sent) => sent.kind === kind && sent.responseId === responseId);
    if (frame === undefined) return;
    this.sent.delete(frame);
    if (outcome === 'accepted') frame.answered.resolve(undefined);
    else frame.answered.reject(new ApiFailure(0, error.message));
  }
}
