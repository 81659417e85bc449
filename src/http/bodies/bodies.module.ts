import { Module } from '@nestjs/common';

import { BodyBudget } from './body-budget.js';
import { BodyGarbage } from './body-garbage.js';

/** The budget that all bodies and messages of clients share. */
@Module({ providers: [BodyBudget, BodyGarbage], exports: [BodyBudget] })
export class BodiesModule {}
