import { WebSocket } from 'ws';

import { EventCollector, readEvents } from '../events/index.js';
import { type Answer, toJsonAnswer, toRefusedAnswer, toStreamedAnswer } from './answer.js';

/** A request. */
interface SentTurn {
  /** `http://…/v1/responses`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Aborts to disconnect the client; the answer then rejects. */
  readonly signal: AbortSignal;
}

/** A transport for turns. */
export interface Transport {
  readonly name: string;
  /** Runs a turn to its end and validates the form of the answer. Throws an Error that names the violated rule. */
  ask(turn: SentTurn): Promise<Answer>;
}

const JSON_TRANSPORT: Transport = {
  name: 'JSON',
  async ask(turn) {
    const { status, headers, text } = await post(turn, turn.body);
    return toJsonAnswer(status, JSON.parse(text), headers + text);
  },
};

const SSE_TRANSPORT: Transport = {
  name: 'SSE',
  async ask(turn) {
    const { status, type, headers, text } = await post(turn, { ...turn.body, stream: true });
    if (!type.startsWith('text/event-stream')) return toRefusedAnswer(status, JSON.parse(text), headers + text);
    const obfuscated = !JSON.stringify(turn.body['stream_options'] ?? {}).includes('"include_obfuscation":false');
    return toStreamedAnswer(await EventCollector.collect(readEvents(once(text)), { obfuscated }), headers + text);
  },
};

const SOCKET_TRANSPORT: Transport = {
  name: 'WebSocket',
  ask({ url, headers, body, signal }) {
    const answer = Promise.withResolvers<Answer>();
    const collector = new EventCollector({ transport: 'ws' });
    let seen = '';
    const socket = new WebSocket(url.replace('http', 'ws'), { headers });
    socket.on('error', answer.reject);
    socket.on('close', () => answer.reject(new Error('the socket was closed before the response ended')));
    socket.on('open', () => socket.send(JSON.stringify({ type: 'response.create', ...body })));
    socket.on('message', (data: Buffer) => {
      seen += data.toString();
      try {
        const { type, status, error } = JSON.parse(data.toString()) as Readonly<Record<string, unknown>>;
        if (type === 'error')
          answer.resolve(toRefusedAnswer(status, { error: { param: null, ...asObject(error) } }, seen));
        else collector.accept(JSON.parse(data.toString()));
        if (collector.ended) answer.resolve(toStreamedAnswer(collector, seen));
      } catch (broken) {
        answer.reject(broken);
      }
    });
    signal.addEventListener('abort', () => answer.reject(signal.reason));
    return answer.promise.finally(() => socket.terminate());
  },
};

/** All transports; each must pass the same checks. */
export const TRANSPORTS = { JSON: JSON_TRANSPORT, SSE: SSE_TRANSPORT, WebSocket: SOCKET_TRANSPORT } as const;

interface PostAnswer {
  readonly status: number;
  readonly type: string;
  /** As text. */
  readonly headers: string;
  readonly text: string;
}

async function post({ url, headers, signal }: SentTurn, body: object): Promise<PostAnswer> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal,
  });
  return {
    status: answer.status,
    type: answer.headers.get('content-type') ?? '',
    headers: JSON.stringify([...answer.headers]),
    text: await answer.text(),
  };
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
