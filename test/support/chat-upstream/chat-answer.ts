/** A call as the model makes it. */
export interface AnsweredCall {
  readonly name: string;
  /** JSON text, or its pieces as they are streamed. */
  readonly arguments?: string | readonly string[];
  /** Counted when absent: `call_1`, `call_2`, … */
  readonly id?: string;
}

/** A token's logprob in the form of chat completions. */
export interface ChatLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes?: readonly number[] | null;
  readonly top_logprobs?: readonly Omit<ChatLogprob, 'top_logprobs'>[];
}

/** What a model says, free of how an upstream words it. Said in this order: reasoning, text, refusal, calls. */
export interface ChatAnswer {
  /** Pieces as they are streamed; a single text is one piece. */
  readonly reasoning?: string | readonly string[];
  readonly text?: string | readonly string[];
  readonly refusal?: string | readonly string[];
  readonly toolCalls?: readonly AnsweredCall[];
  /** Of the text, one list per piece. */
  readonly logprobs?: readonly (readonly ChatLogprob[])[];
  /** The `usage` object; eleven tokens in and seven out when absent. */
  readonly usage?: object;
  /** `finish_reason`; `stop` or `tool_calls` when absent. */
  readonly finish?: string;
}

/** Several answers said one after another in the same stream; usage and finish are the last one's. */
export type ChatAnswers = ChatAnswer | readonly ChatAnswer[];

/** What an answer without usage of its own costs. */
export const PLAIN_USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

/** The answers one by one. */
export function listAnswers(answers: ChatAnswers): readonly ChatAnswer[] {
  return Array.isArray(answers) ? (answers as readonly ChatAnswer[]) : [answers as ChatAnswer];
}

/** The pieces of what is streamed: none, one or several. */
export function listPieces(pieces: string | readonly string[] | undefined): readonly string[] {
  if (pieces === undefined) return [];
  return typeof pieces === 'string' ? [pieces] : pieces;
}

/** The usage of the last answer. */
export function usageOf(answers: ChatAnswers): object {
  return listAnswers(answers).at(-1)?.usage ?? PLAIN_USAGE;
}

/** Why the model stopped: as the last answer says, or as fits what it says. */
export function finishOf(answers: ChatAnswers): string {
  const last = listAnswers(answers).at(-1);
  return last?.finish ?? ((last?.toolCalls ?? []).length === 0 ? 'stop' : 'tool_calls');
}
