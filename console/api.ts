import { EventSourceParserStream } from 'eventsource-parser/stream';

import { TEXTS } from './texts.ts';

/** JSON, as the API answers it. */
export type Json = any;

/** An event of a stream, or a frame of a socket. */
export interface StreamEvent {
  readonly type: string;
  readonly sequence_number?: number;
  readonly [member: string]: Json;
}

/** An answer with an error; `status` is 0 when there was no answer. */
export class ApiFailure extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** A part of a path that would name another path, such as the `..` that somebody has typed as an id. */
const DOTS = /(?:^|\/)\.{1,2}(?=[/?]|$)/;

/** The API beside this page, asked with the key that was typed in. */
export class Api {
  /** Where the routes of the API are, without a slash at the end. The page may have come through a proxy that adds to the path. */
  readonly base = new URL('../v1', import.meta.url).href;

  /** The key is kept here only. */
  constructor(readonly key: string) {}

  /** Asks for JSON. A path that begins with a slash is beside the API. Rejects with ApiFailure. */
  async json(
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Json> {
    return (await this.send(method, path, body, signal, more)).json();
  }

  /** The events of a stream. Rejects with ApiFailure. */
  async *events(method: string, path: string, body?: unknown, signal?: AbortSignal): AsyncGenerator<StreamEvent> {
    const { body: stream } = await this.send(method, path, body, signal);
    if (stream === null) return;
    const events = stream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
    for (;;) {
      const { done, value } = await events.read();
      if (done || value.data === '[DONE]') return;
      yield JSON.parse(value.data) as StreamEvent;
    }
  }

  private async send(
    method: string,
    path: string,
    body: unknown,
    signal?: AbortSignal,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    // Browsers resolve them, also when they are escaped.
    if (DOTS.test(path)) throw new ApiFailure(404, TEXTS.notAnId);
    const headers = new Headers(more);
    if (this.key !== '') headers.set('authorization', `Bearer ${this.key}`);
    if (body !== undefined) headers.set('content-type', 'application/json');
    let answer: Response;
    try {
      const url = path.startsWith('/') ? new URL(`..${path}`, import.meta.url) : `${this.base}/${path}`;
      answer = await fetch(url, {
        method,
        headers,
        credentials: 'omit',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new ApiFailure(0, TEXTS.offline);
    }
    if (answer.ok) return answer;
    const text = await answer.text();
    throw new ApiFailure(answer.status, messageOf(text) ?? `${answer.status} ${text}`);
  }
}

function messageOf(text: string): string | undefined {
  try {
    const { error }: Json = JSON.parse(text);
    return error?.message;
  } catch {
    return undefined;
  }
}
