import { Module } from '@nestjs/common';

import { HomeController } from './home.controller.js';

/** The page at `/`. Only the service of `npm start` has it: an embedding program decides what its own `/` is. */
@Module({ controllers: [HomeController] })
export class HomeModule {}
