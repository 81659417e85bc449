import { Module } from '@nestjs/common';

import { ConsoleController } from './console.controller.js';
import { ConsoleFiles } from './console-files.js';
import { ConsolePage } from './console-page.js';

/** The console: a page to try models in, and to look at responses. */
@Module({
  controllers: [ConsoleController],
  providers: [ConsolePage, { provide: ConsoleFiles, useFactory: () => new ConsoleFiles(ConsoleFiles.built) }],
  exports: [ConsolePage],
})
export class ConsoleModule {}
