import { Module } from '@nestjs/common';

import { BodyBudget } from './body-budget.js';

/** The budget that all bodies and messages of clients share. */
@Module({ providers: [BodyBudget], exports: [BodyBudget] })
export class BodiesModule {}
