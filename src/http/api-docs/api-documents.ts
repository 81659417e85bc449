import { Injectable } from '@nestjs/common';

import { ApiRoutes } from '../index.js';
import { ApiOperations } from './api-operations.js';

/** The documents that describe the API, as JSON. Written when they are first asked for, so that the start does not wait for them. */
@Injectable()
export class ApiDocuments {
  private openApi?: Promise<string>;
  private asyncApi?: Promise<string>;

  constructor(
    private readonly operations: ApiOperations,
    private readonly routes: ApiRoutes,
  ) {}

  /** The OpenAPI document of the routes. */
  openapi(): Promise<string> {
    return (this.openApi ??= this.writeOpenApi());
  }

  /** The AsyncAPI document of the sockets. */
  asyncapi(): Promise<string> {
    return (this.asyncApi ??= this.writeAsyncApi());
  }

  private async writeOpenApi(): Promise<string> {
    const { writeOpenApi } = await import('./openapi-document.js');
    const servers = this.routes.responses.map((path) => path.slice(0, -'/responses'.length));
    return JSON.stringify(writeOpenApi(this.operations.list(), servers));
  }

  private async writeAsyncApi(): Promise<string> {
    const { writeAsyncApi } = await import('./asyncapi-document.js');
    return JSON.stringify(writeAsyncApi(this.routes.responses));
  }
}
