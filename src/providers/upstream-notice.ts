/**
 * What a provider does about a failure of its upstream before the first output, for a client that waits (upstreams §5.3). Its members are
 * those of the event.
 */
export interface UpstreamNotice {
  /** `reconnecting`: the same request again; `fallback`: over another transport. */
  readonly notice: 'reconnecting' | 'fallback';
  /** What Codex says of it. */
  readonly message: string;
  /** The code that the failure would have for the client. */
  readonly code: string;
  /** Of `reconnecting`: its number, from 1, the most there may be, and the pause before it, ms. */
  readonly attempt?: number;
  readonly max_attempts?: number;
  readonly delay_ms?: number;
}
