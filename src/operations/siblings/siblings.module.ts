import { Global, Module } from '@nestjs/common';

import { Siblings } from './siblings.js';

/** How the workers of an instance ask each other. */
@Global()
@Module({ providers: [Siblings], exports: [Siblings] })
export class SiblingsModule {}
