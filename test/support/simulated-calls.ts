import type { Service } from './service.js';
import type { Transport, WireResponse } from './transport.js';

/** A call as the model made it. */
export interface SimulatedCall {
  readonly type: 'function_call' | 'custom_tool_call';
  readonly call_id: string;
  readonly name: string;
  readonly namespace?: string;
  /** Of a function, JSON. */
  readonly arguments?: string;
  /** Of a custom tool. */
  readonly input?: string;
}

/** Runs a turn with what would be the header `x-simulate` on HTTP, which no message on a socket has. */
export async function simulate(
  transport: Transport,
  service: Service,
  control: string,
  body: object,
): Promise<WireResponse> {
  const metadata = control === '' ? {} : { client_metadata: { 'x-simulate': control } };
  const { response } = await transport.run(service, { model: 'gpt-4.1', input: 'Go on.', ...metadata, ...body });
  return response;
}

/** The types of a response's items, in order. */
export function listItemTypes({ output }: WireResponse): readonly string[] {
  return (output as readonly { readonly type: string }[]).map(({ type }) => type);
}

/** The calls of a response, in order. */
export function listCalls({ output }: WireResponse): readonly SimulatedCall[] {
  return (output as readonly SimulatedCall[]).filter(({ type }) => /^(function|custom_tool)_call$/.test(type));
}

/** The names of the tools that a response calls, `namespace.name` where there is one; `text` where it has none. */
export function tellCalls(response: WireResponse): string {
  const names = listCalls(response).map(({ name, namespace }) => [namespace, name].filter(Boolean).join('.'));
  return names.join(', ') || 'text';
}

/** What a client answers calls with. */
export function answerCalls(response: WireResponse): readonly object[] {
  return listCalls(response).map(({ type, call_id }) => ({ type: `${type}_output`, call_id, output: 'Done.' }));
}
