import type { Break } from './breaks.js';

/** How upstreams differ in what they put into chunks. Every one can be switched by itself; absent is what OpenAI does. */
export interface ChunkQuirks {
  /**
   * Where the usage stands: `asked` in a last chunk of its own if the request says `include_usage`, `own_chunk` there always,
   * `with_content` in the last chunk that says something, `with_finish` in the chunk with the finish reason, `cumulative`
   * in every chunk, growing, `absent` nowhere.
   */
  readonly usage?: 'asked' | 'own_chunk' | 'with_content' | 'with_finish' | 'cumulative' | 'absent';
  /** The usage of the last chunk is null in every other one, as OpenAI writes it when it is asked for. */
  readonly nullUsage?: boolean;
  /**
   * Where reasoning stands: in a string member of the delta, in both (`both`), as OpenRouter's list of details, as thinking
   * parts of the content, or in the text between `<think>` and `</think>`.
   */
  readonly reasoning?:
    'reasoning_content' | 'reasoning' | 'both' | 'reasoning_details' | 'thinking_parts' | 'think_tags';
  /** The content is a list of parts. */
  readonly contentParts?: boolean;
  /** What `content` is in chunks that say something else: not there, null, or an empty text. */
  readonly silentContent?: 'absent' | 'null' | 'empty';
  /** Other members of the delta are null where they say nothing. */
  readonly nullMembers?: boolean;
  /** False: the first chunk says something at once, instead of only who speaks. */
  readonly roleChunk?: boolean;
  /** The role is said in every chunk. */
  readonly roleEverywhere?: boolean;
  /** Chunks without any choice stand between the others. */
  readonly emptyChoices?: boolean;
  /** As emptyChoices, but the member itself is missing or null. */
  readonly noChoices?: 'absent' | 'null';
  /** Every chunk is followed by one of a second choice, which says something else. */
  readonly secondChoice?: boolean;
  /** `index` of the choice is not written. */
  readonly choiceIndex?: 'absent';
  /** The delta is called `message`, as in answers that are not streamed. */
  readonly message?: boolean;
  /** `finish_reason` of chunks before the last: null, an empty text, or not there. */
  readonly unfinished?: 'null' | 'empty' | 'absent';
  /** The finish reason stands in the chunk that says the last thing. */
  readonly finishWithContent?: boolean;
  /** The finish reason is said twice. */
  readonly finishTwice?: boolean;
  /** False: there is no chunk with a finish reason. */
  readonly finish?: boolean;
  /** Members that every chunk has besides its own. */
  readonly chunkMembers?: object;
}

/** How upstreams differ in what they write of calls. */
export interface CallQuirks {
  /** Ids in the first chunk of a call, in every one, in none, the same id for all calls, empty, or only in the last. */
  readonly callIds?: 'first_chunk' | 'every_chunk' | 'missing' | 'same' | 'empty' | 'null' | 'last_chunk';
  /** Indexes count the calls, are not there, or are all 0. */
  readonly callIndexes?: 'counted' | 'missing' | 'zero';
  /** Names in the first chunk of a call, split over two, in every one, or in the last: arguments come before the name. */
  readonly callNames?: 'first_chunk' | 'split' | 'every_chunk' | 'last_chunk';
  /** A call in one chunk, or that with its arguments as an object, as null, or without them. */
  readonly callArguments?: 'pieces' | 'whole' | 'object' | 'null' | 'missing';
  /** `type: function` in the first chunk, in every one, or nowhere. */
  readonly callTypes?: 'first_chunk' | 'every_chunk' | 'missing';
  /** Pieces of parallel calls alternate instead of following each other; or all calls are in the same chunks. */
  readonly callOrder?: 'in_turn' | 'alternating' | 'together';
  /** The call stands in the old `function_call` member. */
  readonly oldFunctionCall?: boolean;
}

/** How upstreams differ in the stream's text. */
export interface FrameQuirks {
  readonly lineEnd?: '\n' | '\r\n' | '\r';
  /** Comment lines between the events, as proxies write them to keep connections alive. */
  readonly comments?: boolean;
  /** Blank lines between the events. */
  readonly blankLines?: boolean;
  /** The blank line between events is left out. */
  readonly tight?: boolean;
  /** The name of every event. */
  readonly eventName?: string;
  /** `id:` and `retry:` lines. */
  readonly idLines?: boolean;
  /** `data:` without the space behind it. */
  readonly noSpace?: boolean;
  /** `data:` stands twice. */
  readonly doubledField?: boolean;
  /** Each event is its data in a line, and nothing else. */
  readonly jsonLines?: boolean;
  /** The data of an event is on several `data:` lines. */
  readonly multiLine?: boolean;
  readonly byteOrderMark?: boolean;
  /** False: the stream ends without `[DONE]`. */
  readonly done?: boolean;
  /** Events behind `[DONE]`. */
  readonly afterDone?: boolean;
  /** The last event is not closed by a blank line. */
  readonly openEnd?: boolean;
  /** The answer is one JSON body, although a stream was asked for. */
  readonly json?: boolean;
}

/** How upstreams differ in what they write to the connection. */
export interface TransportQuirks {
  /** All events are in one packet. */
  readonly together?: boolean;
  /** Every event is cut into packets of so many bytes, in the middle of characters. */
  readonly packetBytes?: number;
  /** The body is compressed, whether that was asked for or not. */
  readonly gzip?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  /** How the stream breaks off. */
  readonly breaks?: Break;
}

/** How an upstream answers unlike OpenAI. */
export type Quirks = ChunkQuirks & CallQuirks & FrameQuirks & TransportQuirks;
