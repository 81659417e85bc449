import type { ConfigService } from '@nestjs/config';

import type { Variables } from './read-variables.js';

/**
 * The variables of the process, `.env` and the embedding program, not validated. Any module of the application may
 * inject it to read its own variables.
 */
export class VariableSource {
  /** `overrides` take precedence over the process and `.env`. */
  constructor(
    private readonly config: ConfigService,
    private readonly overrides: Variables,
  ) {}

  /** The value of a variable: text, another type from a program, or undefined. */
  get(name: string): unknown {
    return Object.hasOwn(this.overrides, name) ? this.overrides[name] : this.config.get<unknown>(name);
  }

  /** The values of the variables that are the members of a class. */
  of(type: new () => object): Variables {
    return Object.fromEntries(Object.keys(new type()).map((name) => [name, this.get(name)]));
  }
}
