import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import type { Transcript } from '../../context/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { type CalledTool, callsAsync } from '../../providers/index.js';
import type { AssemblerState } from '../assembler/state.js';
import { ResponseAssembler } from '../assembler/response-assembler.js';
import type { Writing } from '../assembler/event-writer.js';
import type { AdmittedTurn } from './admit.js';

/** Makes the assemblers of turns. */
@Injectable()
export class Assemblers {
  constructor(
    private readonly ids: IdGenerator,
    private readonly environment: Environment,
  ) {}

  /** The assembler of a turn: with a state, it goes on from there; with a context, its items get ids that differ. */
  make(
    { responseId: id, createdAt, requestedTier, settings }: AdmittedTurn,
    writing: Writing,
    { state, context }: { readonly state?: AssemblerState | undefined; readonly context?: Transcript } = {},
  ): ResponseAssembler {
    const maxOutputCharacters = this.environment.MAX_OUTPUT_CHARACTERS;
    const isInContext = (itemId: string): boolean => context?.has(itemId) === true;
    const isAsync = (call: CalledTool): boolean => callsAsync(call, settings.tools, () => context?.items ?? []);
    const identity = { id, createdAt, requestedTier, settings };
    return new ResponseAssembler(
      { ...identity, writing, maxOutputCharacters, isInContext, isAsync, ids: this.ids },
      state,
    );
  }
}
