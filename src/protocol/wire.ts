/**
 * The wire types, from the `openai` package. Members that the package marks optional although they are always on the
 * wire, or types too narrowly for a server that passes unknown values on, are widened here and nowhere else.
 */
import type * as OpenAI from 'openai/resources/responses/responses';

import type { EchoedName } from './parameters.js';

/** One element of a transcript in stored form: a message, a call, an output, or an unknown item type. */
export interface Item {
  readonly type: string;
  readonly id: string;
  readonly [member: string]: unknown;
}

/** An output item as an upstream returns it, with the upstream's id or none. */
export interface ForeignItem {
  readonly type: string;
  readonly id?: string;
  readonly [member: string]: unknown;
}

/** A content part of a message or of a tool output. */
export interface ContentPart {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** The Response object as it is on the wire: without the `output_text` that SDKs add themselves. */
export interface ResponseObject extends Required<
  Omit<
    OpenAI.Response,
    | 'output_text'
    | 'output'
    | 'instructions'
    | 'usage'
    | 'error'
    | 'moderation'
    | 'user'
    | 'conversation'
    | 'image'
    | 'prompt'
    | 'prompt_cache_diagnostics'
    | 'prompt_cache_options'
  >
> {
  readonly output: readonly Item[];
  readonly instructions: string | null;
  readonly usage: Usage | null;
  readonly error: ResponseErrorBody | null;
  readonly moderation: null;
  readonly user: string | null;
  readonly store: boolean;
  readonly frequency_penalty: number;
  readonly presence_penalty: number;
  /** Only of a response that was made in a conversation. */
  readonly conversation?: OpenAI.Response.Conversation;
  readonly image?: OpenAI.Response.Image;
  readonly prompt?: OpenAI.ResponsePrompt;
  readonly prompt_cache_options?: OpenAI.Response['prompt_cache_options'];
}

/** The settings of a request after defaults: what every snapshot of the Response echoes (protocol §5). */
export type ResponseSettings = Pick<ResponseObject, EchoedName>;

/** Why a response is incomplete (protocol §5). */
export type IncompleteReason = NonNullable<OpenAI.Response.IncompleteDetails['reason']>;
/** Any tool of a request (protocol §3.4). */
export type Tool = OpenAI.Tool;
/** How the model may choose among the tools (protocol §3.4). */
export type ToolChoice = OpenAI.Response['tool_choice'];
/** Tokens as a Response shows them (protocol §8). */
export type Usage = OpenAI.ResponseUsage;
/** A citation or file reference within output text (protocol §3.2). */
export type Annotation = OpenAI.ResponseOutputText['annotations'][number];
/** The log probability of a token and of its alternatives. */
export type Logprob = OpenAI.ResponseOutputText.Logprob;
/** The values of `include` (protocol §2). */
export type Includable = OpenAI.ResponseIncludable;

/** `error` of a Response that failed after it was accepted (protocol §5). The wire has codes beyond the typed ones. */
export interface ResponseErrorBody {
  readonly code: string;
  readonly message: string;
  /** What would be headers of a refusal; Codex reads the delay before it asks again from here. */
  readonly headers?: { readonly 'retry-after': string };
}

/** The body of `POST /responses` once validated: the SDK's type, with `input` in the shape it arrived in. */
export interface CreateResponseRequest extends Omit<
  OpenAI.ResponseCreateParamsBase,
  'input' | 'model' | 'service_tier'
> {
  readonly model: string;
  readonly input?: string | readonly InputItem[] | null;
  readonly service_tier?: OpenAI.Response['service_tier'];
  readonly presence_penalty?: number | null;
  readonly frequency_penalty?: number | null;
  /** Of a beta; refused where it is enabled (protocol §2). */
  readonly multi_agent?: { readonly enabled?: boolean | null } | null;
  /** Sent by Codex in place of headers (protocol §2). */
  readonly client_metadata?: unknown;
}

/** The parameters of a request without its input, as they were sent. */
export type RequestParameters = Omit<CreateResponseRequest, 'input'> & Readonly<Record<string, unknown>>;

/** An item as a client may send it: `type` may be absent on messages, `id` on everything. */
export interface InputItem {
  readonly type?: string | null;
  readonly id?: string | null;
  readonly [member: string]: unknown;
}

/** The list envelope of every paginated endpoint (protocol §1.1). */
export interface ListObject<T> {
  readonly object: 'list';
  readonly data: readonly T[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}
