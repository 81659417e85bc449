import type { Caller } from '../../access/index.js';
import type { ForeignItem, Item } from '../../protocol/index.js';
import type { ModelEvent, ModelRoute, Turn } from '../../providers/index.js';
import type { MaybePromise } from '../../time/index.js';
import type { ToolRun } from './turn-observer.js';

/** What policies are told of any pass of a model. */
interface ToldPass {
  /** From 1; passes of policies are not counted. */
  readonly number: number;
  /** How many more calls may be run or answered within `max_tool_calls`; Infinity without a limit. */
  readonly toolCallsLeft: number;
  /** Items that a process which died had begun and not finished, of a background turn: nobody knows how far it came with them. */
  readonly unfinished: readonly Item[];
  /** For whom the turn runs: what the service asks for it counts for this key, and within its limits. */
  readonly caller: Caller;
  /** Aborts when the turn is stopped. */
  readonly signal: AbortSignal;
  /** Resolves once another process would find what was written so far: at once, unless the turn runs in the background. */
  readonly stored: () => Promise<void>;
  /** Reports a call that has ended, for the observers of the turn. */
  readonly ran: (run: ToolRun) => void;
}

/** A pass that ended with `finish`. */
export interface FinishedPass extends ToldPass {
  /** The output items of the pass. */
  readonly output: readonly Item[];
}

/** A pass that is about to begin. */
export interface NextPass extends ToldPass {
  /** What the model will be asked. */
  readonly question: Turn;
  readonly route: ModelRoute;
  /** Characters that may still be added to the output of the response. */
  readonly charactersLeft: number;
}

/** A pass that a policy answers in place of the model. */
export interface OwnPass {
  /**
   * The events of the pass, up to `finish`, with the tokens that it used. They become output of the response. An error fails the turn; an empty batch is a
   * sign of life. A pass of nothing but `finish` leaves everything as it is.
   */
  generate(): AsyncIterable<ModelEvent | readonly ModelEvent[]>;
  /** Whether the response ends with it; otherwise the model is asked next, with this output in its context. */
  readonly isLast: boolean;
  /** What the model has written and `look` has kept back, which this pass stands for: its tokens count. */
  readonly standsFor?: readonly ForeignItem[];
}

/** What may still follow the pass that a model is asked for. */
export interface PassesLeft extends Pick<ToldPass, 'number' | 'toolCallsLeft'> {
  /** Whether it is the last one within MAX_PASSES. */
  readonly isLast: boolean;
}

/** A policy for one turn. */
export interface TurnPolicy {
  /**
   * Called before each pass of the model. Returns a pass that comes first, or undefined. The policies are asked in their order, each once
   * before a pass of the model.
   */
  ahead?(next: NextPass): MaybePromise<OwnPass | undefined>;

  /** What the model is asked in place of a question: for example with functions in place of the tools that the policy runs. */
  ask?(question: Turn, left: PassesLeft): Turn;

  /**
   * Maps an event of a model before the response receives it: to itself, another event, several, or none. Events that
   * are held back may be returned with a later one, at the latest with `finish`. An error fails the turn. A call begins
   * with `function_call` or `custom_tool_call`, or with `item.open` where a provider hands on the items of an upstream.
   */
  look?(event: ModelEvent): ModelEvent | readonly ModelEvent[] | undefined;

  /**
   * Called after a pass of the model that ended normally. Returns a pass in which the policy runs the calls that `look` has kept back, or
   * undefined. The passes of all policies run one after another; then the model goes on, unless one of them is the last or a call waits
   * for an output of the client. Returns no promise where another process must not find the end of the pass without what follows it.
   */
  follow?(pass: FinishedPass): MaybePromise<OwnPass | undefined>;

  /**
   * Called after a pass. Undefined ends the response; returned items are given to the model in another pass of the same
   * response. Clients do not see the items, but a response that continues this one includes them. An output needs its
   * call, in the response or among the items. While a call waits for an output of the client, there is no further pass.
   * The turn waits until it is stopped: its client disconnects, or MAX_TURN_MS is over. When the process of a background
   * turn dies before the items are stored, another process asks for them again: tools run at least once.
   */
  answer?(pass: FinishedPass): MaybePromise<readonly ForeignItem[] | undefined>;
}

/**
 * Filters the events of a model and starts further passes within a turn; tools that the server runs are policies. They
 * are called in the order given by the program, then those of its modules.
 */
export abstract class PassPolicy {
  /**
   * Called once per turn, before its model is asked, and again in each process that takes over a background turn.
   * Undefined when the policy does not apply to the turn, which then has no cost.
   */
  abstract begin(turn: Turn): TurnPolicy | undefined;

  /** Whether the policy runs a hosted tool of a turn, so that no upstream need have it; by default none. */
  runs(_tool: object, _turn: Turn): boolean {
    return false;
  }

  /**
   * Called before a response is created, with the request's input. Throws ApiError for what the policy would refuse; by default nothing.
   */
  check(_turn: Turn, _input: readonly Item[]): MaybePromise<void> {
    return undefined;
  }
}
