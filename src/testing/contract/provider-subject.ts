import type { AntiphonOptions } from '../../antiphon-options.js';

/** Additions to the requests of the suite. */
export interface TurnRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Members of the body; they override those of the suite. */
  readonly body?: Readonly<Record<string, unknown>>;
}

/** A turn during which the upstream stops responding. */
export interface HangingTurn extends TurnRequest {
  /** Resolves once the upstream has received the turn; without it, the client disconnects after the first event. */
  readonly reached?: Promise<unknown>;
  /** Resolves once the upstream has noticed the disconnect; without it, this is not checked. */
  readonly released?: Promise<unknown>;
}

/** The provider under test. */
export interface ProviderSubject {
  /** Options of the service, created for each case: provider classes, their dependencies, variables. */
  readonly options: () => AntiphonOptions | Promise<AntiphonOptions>;
  /** A model of the provider that answers a plain question with text. */
  readonly model: string;
  /** Additions to every request, such as a token limit. */
  readonly request?: TurnRequest;
  /** The model answers the same question identically every time: concurrent turns are compared with separate ones. */
  readonly deterministic?: boolean;
  /** Creates a request that hangs at the upstream. Without it, these cases are skipped. */
  readonly hanging?: () => HangingTurn | Promise<HangingTurn>;
  /** A request that fails at the upstream. */
  readonly failing?: TurnRequest;
  /** Texts that clients must not receive: keys and internal addresses of the upstream. */
  readonly secrets?: readonly string[];
  /** Time limit of each wait, ms, or a function of its description: 5000 by default. */
  readonly patienceMs?: number | ((what: string) => number);
}
