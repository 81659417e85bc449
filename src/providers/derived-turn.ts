import type { Turn } from './turn.js';

/** Every member of a turn, the optional ones too: what implements it cannot forget one. */
export type WholeTurn = { readonly [Member in keyof Required<Turn>]: Turn[Member] };

/**
 * A turn made of another, with input and context of its own. Its members are fields, not accessors, so that a copy of it
 * (`{ ...turn }`) has them.
 */
export abstract class DerivedTurn implements WholeTurn {
  readonly responseId: Turn['responseId'];
  readonly tenant: Turn['tenant'];
  readonly sessionId: Turn['sessionId'];
  readonly include: Turn['include'];
  readonly headers: Turn['headers'];
  readonly trace: Turn['trace'];
  readonly purpose: Turn['purpose'];
  readonly canApprove: Turn['canApprove'];
  readonly parent: Turn['parent'];
  abstract readonly input: Turn['input'];
  abstract readonly context: Turn['context'];

  constructor(
    turn: Turn,
    readonly settings: Turn['settings'],
    readonly parameters: Turn['parameters'],
    readonly hasOthers: Turn['hasOthers'] = turn.hasOthers,
  ) {
    this.responseId = turn.responseId;
    this.tenant = turn.tenant;
    this.sessionId = turn.sessionId;
    this.include = turn.include;
    this.headers = turn.headers;
    this.trace = turn.trace;
    this.purpose = turn.purpose;
    this.canApprove = turn.canApprove;
    this.parent = turn.parent;
  }
}
