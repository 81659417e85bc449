import { Module } from '@nestjs/common';

import { WriteGate } from './write-gate.js';

/** Locks that all replicas share. */
@Module({ providers: [WriteGate], exports: [WriteGate] })
export class LocksModule {}
