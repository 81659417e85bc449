import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { type AssemblerState, ResponseAssembler, type Writing } from '../assembler/index.js';
import type { AdmittedTurn } from './admit.js';

/** Makes the assemblers of turns. */
@Injectable()
export class Assemblers {
  constructor(
    private readonly ids: IdGenerator,
    private readonly environment: Environment,
  ) {}

  /** The assembler of a turn; with a state, it goes on from there. */
  make(
    { responseId: id, createdAt, requestedTier, settings }: AdmittedTurn,
    writing: Writing,
    state?: AssemblerState,
  ): ResponseAssembler {
    const maxOutputCharacters = this.environment.MAX_OUTPUT_CHARACTERS;
    return new ResponseAssembler(
      { id, createdAt, requestedTier, settings, writing, maxOutputCharacters, ids: this.ids },
      state,
    );
  }
}
