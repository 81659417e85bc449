/** What an upstream sends as an event of its stream: an object, or a text as it is. */
export type StreamData = object | string;

/** A chunk with a delta of the first choice, and other members of the choice. */
export function chunk(delta: object, members: object = {}): object {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [{ index: 0, delta, ...members }] };
}

/** A chunk with a finish reason and nothing else. */
export function finish(reason = 'stop'): object {
  return chunk({}, { finish_reason: reason });
}

/** A chunk with calls, each an entry of `tool_calls`. */
export function callChunk(entries: readonly object[], members: object = {}): object {
  return chunk({ tool_calls: entries }, members);
}

/** An entry of `tool_calls`. */
export function entry(name: string | undefined, json: unknown, members: object = {}): object {
  return { type: 'function', ...members, function: { ...(name === undefined ? {} : { name }), arguments: json } };
}

/** The last chunk as some upstreams send it, or a body that is not streamed: the whole message. */
export function completion(message: object, members: object = {}, top: object = {}): object {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, ...members }];
  return { id: 'chatcmpl-1', object: 'chat.completion', choices, ...top };
}

/** The body of a stream: its events and `[DONE]`. */
export function streamOf(data: readonly StreamData[]): string {
  return openStreamOf([...data, '[DONE]']);
}

/** The body of a stream without `[DONE]`. */
export function openStreamOf(data: readonly StreamData[]): string {
  return data.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`).join('');
}
