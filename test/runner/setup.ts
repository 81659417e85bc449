/** Runs before every file: the one global that the service itself sets. Nest keeps the logger of the last application. */
import { Logger } from '@nestjs/common';

Logger.overrideLogger(false);
