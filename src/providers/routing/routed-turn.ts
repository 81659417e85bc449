import type { Item } from '../../protocol/index.js';
import { DerivedTurn, type Turn } from '../turn.js';
import type { ItemView } from './view-of-target.js';

/** How a turn reaches a target. */
export interface RoutedTurnOptions {
  /** The target's name of the model. */
  readonly model: string;
  readonly mostOutputTokens: number | undefined;
  /** Whether another target is asked if this one fails. */
  readonly hasOthers: boolean;
  /** Whether the service compacts its context, although the target could: then `context_management` is not for the target. */
  readonly isCompacted: boolean;
  readonly view: ItemView;
}

/** A turn as a target is given it: with its name of the model, with `max_output_tokens` capped, and with what it can read. */
export class RoutedTurn extends DerivedTurn {
  private readonly view: ItemView;

  constructor(
    private readonly turn: Turn,
    { model, mostOutputTokens, hasOthers, isCompacted, view }: RoutedTurnOptions,
  ) {
    const { settings, parameters } = turn;
    const limit = Math.min(settings.max_output_tokens ?? Infinity, mostOutputTokens ?? Infinity);
    super(
      turn,
      { ...settings, model, max_output_tokens: Number.isFinite(limit) ? limit : null },
      isCompacted ? withoutContextManagement(parameters) : parameters,
      hasOthers,
    );
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
