import type { Item, ResponseSettings } from '../../protocol/index.js';
import type { Turn } from '../turn.js';
import type { View } from './view-of-target.js';

/** How a turn reaches a target. */
export interface RoutedTurnOptions {
  /** The target's name of the model. */
  readonly model: string;
  readonly mostOutputTokens: number | undefined;
  /** Whether another target is asked if this one fails. */
  readonly hasOthers: boolean;
  /** Whether the service compacts its context, although the target could: then `context_management` is not for the target. */
  readonly isCompacted: boolean;
  readonly view: View;
}

/** A turn as a target is given it: with its name of the model, with `max_output_tokens` capped, and with what it can read. */
export class RoutedTurn implements Turn {
  readonly settings: ResponseSettings;
  readonly responseId: Turn['responseId'];
  readonly tenant: Turn['tenant'];
  readonly sessionId: Turn['sessionId'];
  readonly parameters: Turn['parameters'];
  readonly include: Turn['include'];
  readonly headers: Turn['headers'];
  readonly trace: Turn['trace'];
  readonly purpose: Turn['purpose'];
  readonly parent: Turn['parent'];
  readonly hasOthers: boolean;
  private readonly view: View;

  constructor(
    private readonly turn: Turn,
    { model, mostOutputTokens, hasOthers, isCompacted, view }: RoutedTurnOptions,
  ) {
    const { settings } = turn;
    const limit = Math.min(settings.max_output_tokens ?? Infinity, mostOutputTokens ?? Infinity);
    this.settings = { ...settings, model, max_output_tokens: Number.isFinite(limit) ? limit : null };
    this.responseId = turn.responseId;
    this.tenant = turn.tenant;
    this.sessionId = turn.sessionId;
    this.parameters = isCompacted ? withoutContextManagement(turn.parameters) : turn.parameters;
    this.include = turn.include;
    this.headers = turn.headers;
    this.trace = turn.trace;
    this.purpose = turn.purpose;
    this.parent = turn.parent;
    this.hasOthers = hasOthers;
    this.view = view;
  }

  get input(): readonly Item[] {
    return this.view(this.turn.input);
  }

  get context(): readonly Item[] {
    return this.view(this.turn.context);
  }
}

function withoutContextManagement(parameters: Turn['parameters']): Turn['parameters'] {
  const { context_management: _, ...others } = parameters;
  return others;
}
