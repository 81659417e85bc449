import type { Item, ResponseSettings } from '../../protocol/index.js';
import type { Turn } from '../turn.js';

/** A turn with the upstream name of its model, and with `max_output_tokens` capped. */
export class RoutedTurn implements Turn {
  readonly settings: ResponseSettings;
  readonly responseId: Turn['responseId'];
  readonly tenant: Turn['tenant'];
  readonly sessionId: Turn['sessionId'];
  readonly input: Turn['input'];
  readonly parameters: Turn['parameters'];
  readonly include: Turn['include'];
  readonly headers: Turn['headers'];
  readonly purpose: Turn['purpose'];
  readonly parent: Turn['parent'];

  constructor(
    private readonly turn: Turn,
    model: string,
    mostOutputTokens: number | undefined,
    readonly hasOthers = false,
  ) {
    const { settings } = turn;
    const limit = Math.min(settings.max_output_tokens ?? Infinity, mostOutputTokens ?? Infinity);
    this.settings = { ...settings, model, max_output_tokens: Number.isFinite(limit) ? limit : null };
    this.responseId = turn.responseId;
    this.tenant = turn.tenant;
    this.sessionId = turn.sessionId;
    this.input = turn.input;
    this.parameters = turn.parameters;
    this.include = turn.include;
    this.headers = turn.headers;
    this.purpose = turn.purpose;
    this.parent = turn.parent;
  }

  get context(): readonly Item[] {
    return this.turn.context;
  }
}
