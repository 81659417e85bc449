import type { Operations } from './operations.js';
import type { RefusedCall } from './refusals.js';

/** The name of an operation of the thread. */
export type OperationName = keyof Operations;

/** What the thread is asked for. */
export interface Call {
  readonly id: number;
  readonly name: OperationName;
  readonly args: readonly unknown[];
  /** The time of the service when it was asked, milliseconds since the epoch. */
  readonly now: number;
}

/** What it answers: the value of an operation; or what it was refused with, or the message of its failure, and then nothing of it is stored. */
export type Reply = { readonly id: number } & CallAnswer;

/** How an operation has ended. */
export type CallAnswer = { readonly value: unknown } | { readonly refusal: RefusedCall } | { readonly error: string };

/** What the thread answers in place of replies when it could not read a message: none of its calls was executed. */
export interface Unread {
  readonly unread: string;
}

/** What the thread says beside its replies, for the log: a record is damaged. */
export interface Damage {
  readonly damage: string;
}

/** How the thread opens its file. */
export interface ThreadOptions {
  readonly directory: string;
  /** The most that the context of a turn may have; by default anything. */
  readonly maxContextBytes?: number;
  /** The longest that the file may become, in pages of 4 KiB; by default as long as there is room. */
  readonly maxPages?: number;
  /** Whether sqlite-vec is used where it is installed; by default it is. */
  readonly usesExtension?: boolean;
}

/** The first message of the thread: whether it could open its file. `vectors` says what compares them, and `message` why not, for operators. */
export type Opened =
  { readonly isOpen: true; readonly vectors: string } | { readonly isOpen: false; readonly message: string };
