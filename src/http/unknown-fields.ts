import { Injectable, Logger } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { quote } from '../logging/index.js';
import { type CheckOptions, IgnoredMembers, TypoSearch } from '../validation/index.js';

/** What UNKNOWN_PARAMETERS says about the unknown fields of a request. */
@Injectable()
export class UnknownFields {
  private readonly logger = new Logger('UnknownFields');
  private readonly ignored = new IgnoredMembers((name) =>
    this.logger.warn(
      `requests have a field ${quote(name)} that the API does not know, or not on this route; it is ignored. ` +
        '`forward` in PROVIDERS_FILE hands a field on, UNKNOWN_PARAMETERS=ignore ends these warnings',
    ),
  );

  constructor(private readonly environment: Environment) {}

  /** The options of the validation of one request. */
  options(): CheckOptions {
    return { unknownParameters: this.environment.UNKNOWN_PARAMETERS, typos: new TypoSearch(this.ignored) };
  }
}
