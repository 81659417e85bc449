import {
  ContextTooLargeError,
  ConversationChangedError,
  DamagedRecordError,
  GraphTooLargeError,
  QueueFullError,
  SessionFullError,
  StateError,
  StoreUnavailableError,
  UnknownCursorError,
} from '../errors.js';
import { FileQuotaError, NoBucketError } from '../file-store.js';

/** The errors that contracts of the thread throw. */
const CLASSES = {
  ContextTooLargeError,
  ConversationChangedError,
  DamagedRecordError,
  FileQuotaError,
  GraphTooLargeError,
  NoBucketError,
  QueueFullError,
  SessionFullError,
  StoreUnavailableError,
  UnknownCursorError,
};

/** An error of a contract as it crosses threads, where a copy of an error loses its class and its members. */
export interface RefusedCall {
  readonly name: string;
  readonly message: string;
  readonly members: object;
}

/** What an operation was refused with; undefined for an error that no contract names: it has failed. */
export function toRefusal(error: unknown): RefusedCall | undefined {
  if (!(error instanceof StateError && error.name in CLASSES)) return undefined;
  return { name: error.name, message: error.message, members: Object.fromEntries(Object.entries(error)) };
}

/** The error of a refusal. */
export function toError({ name, message, members }: RefusedCall): Error {
  const { prototype } = CLASSES[name as keyof typeof CLASSES];
  const error = Object.assign(Object.create(prototype) as StateError, { message }, members);
  Error.captureStackTrace(error, toError);
  return error;
}
