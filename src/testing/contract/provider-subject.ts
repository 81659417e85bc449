import type { AntiphonOptions } from '../../antiphon-options.js';

/** What a request of the suite carries besides its input. */
export interface TurnRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Members of the body; they win over the suite's own. */
  readonly body?: Readonly<Record<string, unknown>>;
}

/** A turn in the middle of which the upstream falls silent. */
export interface HangingTurn extends TurnRequest {
  /** Resolves once the upstream holds the turn; without it, the client leaves after the first event. */
  readonly reached?: Promise<unknown>;
  /** Resolves once the upstream saw that nobody wants its answer any more; without it, nobody asks. */
  readonly released?: Promise<unknown>;
}

/** The provider that is to be proven, and how it can be asked. */
export interface ProviderSubject {
  /** What the service is started with, anew for each case: the provider classes, what they inject, variables. */
  readonly options: () => AntiphonOptions | Promise<AntiphonOptions>;
  /** A model of the provider that answers a plain question with text. */
  readonly model: string;
  /** What every request carries, such as a limit of tokens. */
  readonly request?: TurnRequest;
  /** The model answers the same question alike every time: turns at once are compared with turns alone. */
  readonly deterministic?: boolean;
  /** Makes a request that hangs at the upstream. Without it, only what the upstream does by itself is seen. */
  readonly hanging?: () => HangingTurn | Promise<HangingTurn>;
  /** A request that fails at the upstream. */
  readonly failing?: TurnRequest;
  /** What no client may ever see: keys and internal addresses of the upstream. */
  readonly secrets?: readonly string[];
  /** How long a wait may take, ms, or a function of what is waited for that gives it: 5000 by default. */
  readonly patienceMs?: number | ((what: string) => number);
}
