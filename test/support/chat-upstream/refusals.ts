import type { HttpReply } from '../upstream-server.js';
import { textReply } from './reply.js';

const JSON_TYPE = 'application/json';

/** The bodies in which servers refuse requests, by their form: content type and text. */
export const REFUSAL_BODIES = {
  openai: [
    JSON_TYPE,
    '{"error":{"message":"Refused, says the upstream.","type":"some_error","param":"messages","code":"some_code"}}',
  ],
  /** `code` is the HTTP status. */
  numberCode: [JSON_TYPE, '{"error":{"code":400,"message":"Refused, says the upstream.","type":"some_error"}}'],
  /** Errors without an `error` member. */
  flat: [
    JSON_TYPE,
    '{"object":"error","message":"Refused, says the upstream.","type":"BadRequestError","param":null,"code":400}',
  ],
  errorText: [JSON_TYPE, '{"error":"Refused, says the upstream.","error_type":"validation"}'],
  /** A list of faults, each with its place. */
  detailList: [
    JSON_TYPE,
    '{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Refused, says the upstream.","input":true}]}',
  ],
  /** The list, where a message is expected. */
  messageDetail: [
    JSON_TYPE,
    '{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Refused, says the upstream.","input":true}]},"type":"invalid_request_error","param":null,"code":null}',
  ],
  detailText: [JSON_TYPE, '{"detail":"Refused, says the upstream."}'],
  message: [JSON_TYPE, '{"message":"Refused, says the upstream.","request_id":"1"}'],
  /** A list around the usual body. */
  list: [JSON_TYPE, '[{"error":{"code":400,"message":"Refused, says the upstream.","status":"INVALID_ARGUMENT"}}]'],
  /** What the model's host said stands inside. */
  nested: [
    JSON_TYPE,
    '{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\\"error\\":{\\"message\\":\\"Refused, says the upstream.\\"}}","provider_name":"P"}}}',
  ],
  /** Its error stands inside as an object. */
  nestedObject: [
    JSON_TYPE,
    '{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":{"error":{"message":"Refused, says the upstream."}}}}}',
  ],
  /** A gateway has its upstream's body as its message. */
  nestedText: [
    JSON_TYPE,
    '{"error":{"message":"{\\"error\\":{\\"message\\":\\"Refused, says the upstream.\\"}}","code":400}}',
  ],
  errorsList: [
    JSON_TYPE,
    '{"success":false,"errors":[{"code":5004,"message":"Refused, says the upstream."}],"result":null}',
  ],
  errorList: [JSON_TYPE, '{"error":[{"message":"Refused, says the upstream."}]}'],
  detailObject: [JSON_TYPE, '{"detail":{"error":{"message":"Refused, says the upstream.","code":"some_code"}}}'],
  capitalMessage: [JSON_TYPE, '{"__type":"ValidationException","Message":"Refused, says the upstream."}'],
  text: ['text/plain', 'Refused, says the upstream.'],
  html: ['text/html', '<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>'],
  empty: ['', ''],
  invalidJson: [JSON_TYPE, '{"error":{"message":"Refused'],
} as const satisfies Readonly<Record<string, readonly [contentType: string, body: string]>>;

/** A form in which requests are refused. */
export type RefusalForm = keyof typeof REFUSAL_BODIES;

/** A refusal: the status, the form of its body, and headers such as `retry-after`. */
export function refusal(
  status: number,
  form: RefusalForm = 'openai',
  headers: Readonly<Record<string, string>> = {},
): HttpReply {
  const [contentType, body] = REFUSAL_BODIES[form];
  return textReply(body, contentType, { status, headers });
}

/** An entry of `GET /models`, with what upstreams tell of their models. */
export interface ListedModel {
  readonly id: string;
  readonly owned_by?: string;
  readonly created?: number;
  /** The window as vLLM and SGLang tell it. */
  readonly max_model_len?: number;
  /** The window as OpenRouter and Groq (`context_window`) tell it. */
  readonly context_length?: number;
  readonly context_window?: number;
  /** What llama.cpp tells. */
  readonly meta?: { readonly n_ctx_train?: number; readonly n_ctx?: number };
  readonly [member: string]: unknown;
}

/** The reply in which llama.cpp lists a model, with what the model can do in a list beside the usual one. */
export function llamaModelList(id: string, capabilities: readonly string[]): HttpReply {
  const data = [{ id, object: 'model', created: 1_767_225_600, owned_by: 'llamacpp', meta: { n_ctx_train: 4096 } }];
  const models = [{ name: id, model: id, type: 'model', capabilities }];
  return textReply(JSON.stringify({ models, object: 'list', data }), 'application/json');
}

/** The reply that lists models. */
export function modelList(models: readonly ListedModel[]): HttpReply {
  const data = models.map((model) => ({ object: 'model', created: 1_767_225_600, owned_by: 'upstream', ...model }));
  return textReply(JSON.stringify({ object: 'list', data }), 'application/json');
}
