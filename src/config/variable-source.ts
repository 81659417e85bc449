import type { ConfigService } from '@nestjs/config';

import type { Variables } from './read-variables.js';

/**
 * What the process, `.env` and the embedding program say about variables, not read or checked yet. Any module of the
 * application may inject it for variables of its own.
 */
export class VariableSource {
  /** `overrides` win over the process and `.env`. */
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
