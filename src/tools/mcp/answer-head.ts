import type { IncomingHttpHeaders } from 'node:http';

/** What the head of an answer says. */
export interface AnswerHead {
  readonly status: number;
  /** Of its body, in lower case and without parameters; empty when it names none. */
  readonly mediaType: string;
  /** Whether its body is a stream of events. */
  readonly isEvents: boolean;
  readonly hasBody: boolean;
  /** How its body is compressed, in lower case and in the order in which it was done. */
  readonly codings: readonly string[];
  /** Where it redirects to; undefined when it names nothing. */
  readonly location: string | undefined;
}

/** Statuses of answers without a body. */
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Reads the head of an answer. A header that comes several times is an array, whatever Node's type of it says. */
export function readHead(status: number, headers: IncomingHttpHeaders): AnswerHead {
  // A server, or a proxy before it, may name the type twice.
  const mediaType = (valuesOf(headers, 'content-type')[0] ?? '').split(/[;,]/, 1).join().trim().toLowerCase();
  const hasBody = !NO_BODY.has(status);
  const codings = hasBody ? valuesOf(headers, 'content-encoding').flatMap((value) => value.split(',')) : [];
  return {
    status,
    mediaType,
    isEvents: status < 300 && mediaType === 'text/event-stream',
    hasBody,
    codings: codings.map((coding) => coding.trim().toLowerCase()),
    location: valuesOf(headers, 'location')[0],
  };
}

function valuesOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  name: string,
): readonly string[] {
  const value = headers[name] ?? [];
  return typeof value === 'string' ? [value] : value;
}
