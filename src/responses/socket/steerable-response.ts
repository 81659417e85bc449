import type { Item } from '../../protocol/index.js';
import type { ActiveTurn } from '../turn/active-turn.js';
import type { EarlyEnd } from '../turn/stop-reason.js';

/** The response of a running turn, as its steering needs it. */
export class SteerableResponse {
  constructor(private readonly active: ActiveTurn) {}

  get id(): string {
    return this.active.responseId;
  }

  /** Why it cannot be steered; null when it can. */
  get refusesSteering(): string | null {
    const { isSteerable, admitted } = this.active;
    const { settings, parameters, generate } = admitted;
    if (!isSteerable || !generate)
      return "The model of this response cannot be steered. Send 'response.create' when it has ended.";
    if (settings.conversation != null) return 'A response of a conversation cannot be steered.';
    if ((parameters.context_management?.length ?? 0) > 0)
      return 'A response with context_management cannot be steered.';
    return null;
  }

  /** Its request, without input. */
  get parameters(): Readonly<Record<string, unknown>> {
    return this.active.admitted.parameters;
  }

  /** The items that its server gave the model. */
  get given(): readonly Item[] {
    return this.active.outlet?.given ?? [];
  }

  /** Writes an event among its own. False after the terminal one. */
  interject(type: string, members: string): boolean {
    return this.active.outlet?.interject(type, members) === true;
  }

  /** Ends it early, at the next boundary that is safe. False when it is too late. */
  endEarly(end: EarlyEnd): boolean {
    return this.active.endEarly(end);
  }
}
