import type { IncomingHttpHeaders } from 'node:http';

import { Injectable, Module } from '@nestjs/common';
import { ApiError, asTenant, Authenticator, type Tenant } from 'antiphon';

/** Looks up teams by key, in place of a database or an identity provider. */
@Injectable()
export class TeamDirectory {
  private readonly teams = new Map([
    ['key-of-red', 'red'],
    ['key-of-blue', 'blue'],
  ]);

  async teamOf(key: string): Promise<string | undefined> {
    return this.teams.get(key);
  }

  remove(key: string): void {
    this.teams.delete(key);
  }
}

@Module({ providers: [TeamDirectory], exports: [TeamDirectory] })
export class TeamsModule {}

/** Each team is a tenant, with access to its own responses only. */
@Injectable()
export class TeamAuthenticator extends Authenticator {
  constructor(private readonly directory: TeamDirectory) {
    super();
  }

  override async authenticate({ authorization = '' }: IncomingHttpHeaders): Promise<Tenant> {
    const team = await this.directory.teamOf(authorization.replace(/^Bearer /, ''));
    if (team === undefined) throw ApiError.of('invalid_api_key', 'Unknown API key.');
    return asTenant(team);
  }
}
