import type { HttpReply } from '../upstream-server.js';
import { textReply } from './reply.js';

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
