import { scrub } from '../scrub.js';
import type { Turn } from '../turn.js';
import { CountRefusedError } from '../upstream-http/count-route.js';
import { classifyHttp } from './errors/classify.js';
import { toClientError } from './errors/to-client-error.js';
import { connectionHeaders, forwardedHeaders } from './request/connection-headers.js';
import { conversationOf } from './request/conversation.js';
import { toCountRequest, toHttpBody } from './request/to-request.js';
import type { UpstreamRequest } from './request/upstream-request.js';
import { AnswerRefusedError } from './transport/exchange.js';
import { isNetworkError, unanswered } from './transport/broken.js';
import type { Upstream } from './upstream.js';
import { UpstreamError } from './upstream-error.js';

/**
 * Asks an upstream for the input tokens of a turn, once, with the members and the items that the request for its answer would have. Null
 * if the upstream does not count. Rejects with the ModelError for the client, and with the signal's reason.
 */
export async function countAtUpstream(
  turn: Turn,
  upstream: Upstream,
  signal: AbortSignal | undefined,
): Promise<number | null> {
  const { options } = upstream;
  if (options.fixture !== null) return null;
  const request = toCountRequest(turn, options);
  const parentId = request.options.keepsAll ? request.parentId : null;
  const ask = (id: string | null): Promise<number | null> => post(turn, request, id, upstream, signal);
  try {
    return await ask(parentId).catch((error: unknown) => {
      if (parentId !== null && mayHaveForgotten(error)) return ask(null);
      throw error;
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw explain(error, upstream);
  }
}

function post(
  turn: Turn,
  request: UpstreamRequest,
  parentId: string | null,
  { options, counting }: Upstream,
  signal: AbortSignal | undefined,
): Promise<number | null> {
  const headers = {
    accept: 'application/json',
    ...forwardedHeaders(turn),
    ...connectionHeaders(conversationOf(turn), options.profile),
  };
  return counting.ask(toHttpBody(request, parentId), signal, { headers, compresses: options.compressesRequests });
}

/** Whether the upstream may not know the parent any more; not every server says so in the same way. */
function mayHaveForgotten(error: unknown): boolean {
  return error instanceof CountRefusedError && [400, 404].includes(error.status);
}

/** The error for the client, as that of a turn; logs its cause. Other errors than the upstream's are returned as they are. */
function explain(error: unknown, { options, clock, outages }: Upstream): unknown {
  const { secrets, profile, name } = options;
  const now = clock.now();
  const failure =
    error instanceof CountRefusedError
      ? classifyHttp(new AnswerRefusedError(error.status, error.headers, error.text), { profile, now })
      : isNetworkError(error)
        ? unanswered(error)
        : error;
  if (!(failure instanceof UpstreamError)) return failure;
  const explained = toClientError(failure, { secrets, now, wasRepeated: false });
  if (explained.retry !== 'nowhere') outages.warn(`'${name}'`, `did not count: ${scrub(failure.message, secrets)}`);
  return explained;
}
