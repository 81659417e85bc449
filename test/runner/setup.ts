/** Runs before every file: the log is the one thing of the process that services set and use. Nest keeps the logger of the last application. */
import { Logger } from '@nestjs/common';

import { LineBudget } from '../../src/logging/index.js';

Logger.overrideLogger(false);
// What services of earlier files left out is said to nobody.
LineBudget.endAll();
