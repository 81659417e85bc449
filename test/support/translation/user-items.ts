/** Items as clients write them, in their shortest form. */

/** A message of the user. */
export function user(content: unknown): object {
  return { role: 'user', content };
}

/** A message of the model, as clients replay it. */
export function assistant(text: string): object {
  return { role: 'assistant', content: [{ type: 'output_text', text }] };
}

/** A function call; its arguments are an empty object unless said otherwise. */
export function functionCall(callId: string, name: string, json = '{}'): object {
  return { type: 'function_call', call_id: callId, name, arguments: json };
}

/** What a function gave back. */
export function functionOutput(callId: string, output: unknown): object {
  return { type: 'function_call_output', call_id: callId, output };
}

/** A function tool that takes anything. */
export function functionTool(name: string, members: object = {}): object {
  return { type: 'function', name, parameters: { type: 'object' }, strict: false, ...members };
}
