import { parametersWhere } from '../../../protocol/index.js';

/** Request members of the API (protocol §2) that reach the upstream as the client sent them. */
export const SENT_MEMBERS: readonly string[] = parametersWhere(({ upstream }) => upstream === 'sent').toSorted();

/** The sent members that a count of tokens takes (protocol §1.1). */
export const SENT_COUNTED_MEMBERS: readonly string[] = parametersWhere(
  ({ upstream, counts }) => upstream === 'sent' && counts === true,
);

/** Members of a frame on a socket, around the request. */
const FRAME_MEMBERS: readonly string[] = ['event_id', 'generate', 'session_id', 'stream_id', 'type'];

/** Members that `forward` cannot name: they are sent anyway, or the service or the provider sets them. */
export const RESERVED_MEMBERS: ReadonlySet<string> = new Set([
  ...parametersWhere(({ upstream }) => upstream !== undefined),
  ...FRAME_MEMBERS,
]);

/** Members that `omit` cannot name: every request needs them. */
export const VITAL_MEMBERS: ReadonlySet<string> = new Set(['input', 'model', 'stream']);
