import { type ForeignItem, isEventOf, isProtocolEvent } from '../../../protocol/index.js';
import { isObject, parseJson } from '../../../validation/index.js';
import type { ForeignEvent, ModelEvent } from '../../model-event.js';
import { otherApiIn } from '../../upstream-http/other-api.js';
import type { Statistics } from '../statistics.js';
import { notUnderstood, type UpstreamError } from '../upstream-error.js';
import { ResponsesAnswer, type ResponsesAnswerOptions, type Handler } from './answer.js';
import { BESIDE_OUTPUT, IMPLIED, passOn } from './beside-output.js';
import { DELTAS } from './deltas.js';
import { ENDINGS } from './endings.js';
import { inFormOfApi, isFinalItem, isForeignItem, isUselessCall, withPayload } from './foreign-items.js';

/** Some servers change the `call_id` of such an item while it is open, so it opens when it is final. */
const OPENS_LATE = 'tool_search_call';

/** Answers to frames that this service does not send. */
const ABOUT_THE_CONNECTION = /^response\.(?:steer|inject|interrupt)\./;

const added: Handler = (answer, { output_index: index, item: sent }) => {
  const item = inFormOfApi(sent);
  // Nothing could refer to an item without either; its final form tells all.
  const isNamed = isForeignItem(item) && (index != null || typeof item.id === 'string');
  if (isNamed && item.type === OPENS_LATE) return;
  const opened = isNamed ? answer.open(index, item) : null;
  if (opened === null) answer.dropAnnounced(index, isObject(item) ? item.id : undefined);
  else answer.writePayload(opened, answer.held.take(index, opened.head));
};

/** Minimal servers announce no item: it is opened and closed. */
const done: Handler = (answer, { output_index: index, item: sent }) => {
  const { items, held } = answer;
  const knownOf = ({ id, type }: ForeignItem) => items.meant(index, id, type) ?? items.unnamedOf(type);
  const item = withPayload(inFormOfApi(sent), (call) => knownOf(call)?.payload || held.take(index, call));
  if (isFinalItem(item)) {
    held.take(index, item);
    answer.close(knownOf(item) ?? answer.open(index, item), item);
  } else if (isUselessCall(item)) answer.loseCall();
  else answer.leaveOutItem(item);
};

/** The events that open and close items (upstreams §3.2). */
const ITEMS: Readonly<Record<string, Handler>> = {
  'response.output_item.added': added,
  'response.output_item.done': done,
};

/** Events of items that are passed through, and events of types that no one knew when this was written. */
const readOther: Handler = (answer, event) => {
  const { type } = event;
  const item = answer.items.meant(event.output_index, event.item_id);
  if (item?.isOpen === true && isEventOf(item.type, type, event)) {
    answer.write({ type: 'item.event', key: item.key, event });
  } else if (isProtocolEvent(type) || type === '' || isObject(event.response) || ABOUT_THE_CONNECTION.test(type)) {
    answer.drop();
  } else {
    const other = answer.hasOutput ? undefined : otherApiIn(event, 'responses');
    if (other !== undefined) answer.end(notUnderstood(other));
    else {
      answer.countUnknown();
      passOn(answer, event);
    }
  }
};

const HANDLERS: ReadonlyMap<string, Handler> = new Map([
  ...Object.entries({ ...DELTAS, ...ITEMS, ...ENDINGS, ...BESIDE_OUTPUT }),
  ...IMPLIED.map((type): [string, Handler] => [type, () => undefined]),
]);

/** Ends the stream of some servers; carries nothing. */
const END_MARK = '[DONE]';

/** What begins as an object, or as a list of them. */
const OBJECT = /^\s*(?:\[\s*)?\{/;

/** Levels of an event, as of a client's request by default. */
const MOST_LEVELS = 256;

/** Characters in which so many levels do not fit. */
const SHORT = 2 * MOST_LEVELS;

/**
 * Turns the events of an upstream's answer into ModelEvents. What does not fit together is dropped and counted, never fatal:
 * `events_unparsable` is no event, `events_unplaced` contradicts the others or has members of a wrong type, and `events_unknown` have a
 * type that is not known, and are passed on.
 */
export class EventReader {
  private readonly answer: ResponsesAnswer;

  constructor(
    options: ResponsesAnswerOptions,
    private readonly statistics: Statistics,
  ) {
    this.answer = new ResponsesAnswer(options, statistics);
  }

  /** Reads the JSON text of an event; `take` returns what it means. Returns whether the answer is over. */
  read(json: string): boolean {
    const { answer } = this;
    if (answer.isOver) return true;
    // Other texts are recognised without the parser, whose errors are expensive.
    const value = OBJECT.test(json) ? parseJson(json) : undefined;
    if (isEvent(value, json)) (HANDLERS.get(value.type) ?? readOther)(answer, value);
    else if (json.trim() !== END_MARK) this.dropUnparsable(value);
    return answer.isOver;
  }

  /** The ModelEvents since the last call. */
  take(): readonly ModelEvent[] {
    return this.answer.take();
  }

  /** Whether `take` gave, or will give, more than headers, token counts and events beside the response. */
  get hasOutput(): boolean {
    return this.answer.hasOutput;
  }

  /** What of the output was left out first, because it is not understood; null for nothing. */
  get unread(): string | null {
    return this.answer.unread;
  }

  /** Whether the response is completed or incomplete. */
  get isFinished(): boolean {
    return this.answer.isFinished;
  }

  /** What the upstream reported instead of finishing; null once it has finished. */
  get failure(): UpstreamError | null {
    return this.answer.failure;
  }

  /**
   * Whether the upstream's context is now its last one and `output`: the response is completed, every item has its final form, and none was
   * dropped.
   */
  get isContinuable(): boolean {
    return this.answer.isContinuable;
  }

  /** The upstream's id of the response; null until it is known, and empty if it has none. */
  get responseId(): string | null {
    return this.answer.responseId;
  }

  /** The items in their final form, in the order in which they began, which is that of the transcript. */
  get output(): readonly ForeignItem[] {
    return this.answer.items.finals;
  }

  /** The state of the turn that the upstream gave on a socket, where the profile takes it from events. */
  get turnState(): string | null {
    return this.answer.turnState;
  }

  /** Drops what is no event. It may have been an item. Ends an answer that is one of another API. */
  private dropUnparsable(value: unknown): void {
    const { answer, statistics } = this;
    statistics.count('events_unparsable');
    answer.hasLostItem = true;
    const other = answer.hasOutput ? undefined : otherApiIn(value, 'responses');
    if (other !== undefined) answer.end(notUnderstood(other));
  }
}

/** Whether the value of a JSON text is an event: an object with a `type`, whose other members may be of any type. */
function isEvent(value: unknown, json: string): value is ForeignEvent {
  return isObject(value) && typeof value.type === 'string' && !(json.length > SHORT && isDeep(value));
}

/** Whether a value has more levels than can be written again without exhausting the stack. */
function isDeep(value: object): boolean {
  let level: readonly object[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((parent) => {
      const children: readonly unknown[] = Object.values(parent);
      return children.filter((child) => typeof child === 'object' && child !== null);
    });
  }
  return false;
}
