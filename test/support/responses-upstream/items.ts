/** An output item in its final form, as an upstream sends it. */
export interface UpstreamItem {
  readonly type: string;
  readonly id?: string;
  readonly [member: string]: unknown;
}

let count = 0;

/** An id of the upstream in the form of a unique one, never the same twice. */
export function upstreamId(prefix: string): string {
  count += 1;
  return `${prefix}_up${String(count).padStart(20, '0')}`;
}

/** A message of the assistant. */
export function message(text: string, members: object = {}): UpstreamItem {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  return { id: upstreamId('msg'), type: 'message', status: 'completed', role: 'assistant', content, ...members };
}

/** A call of a client's function. `input` is an object, or JSON text. */
export function functionCall(name: string, input: object | string = {}, members: object = {}): UpstreamItem {
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  const [id, callId] = [upstreamId('fc'), upstreamId('call')];
  return { id, type: 'function_call', status: 'completed', call_id: callId, name, arguments: text, ...members };
}

/** A call of a client's custom tool. */
export function customCall(name: string, input: string, members: object = {}): UpstreamItem {
  const [id, callId] = [upstreamId('ctc'), upstreamId('call')];
  return { id, type: 'custom_tool_call', status: 'completed', call_id: callId, name, input, ...members };
}

/** Reasoning with summary parts, and encrypted content where asked for. */
export function reasoning(summary: readonly string[], members: object = {}): UpstreamItem {
  const parts = summary.map((text) => ({ type: 'summary_text', text }));
  return { id: upstreamId('rs'), type: 'reasoning', summary: parts, ...members };
}

/** An item of a hosted tool. */
export function hosted(type: string, members: object = {}): UpstreamItem {
  return { id: upstreamId(type.replace(/_call$/, '')), type, status: 'completed', ...members };
}
