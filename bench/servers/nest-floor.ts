/**
 * A minimal Nest application on Fastify: one controller, whose body Nest's ValidationPipe validates. It sends the same Response
 * and saves nothing.
 */
import { Body, Controller, HttpCode, Module, Post, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';

import { toJsonAnswer } from './json-answer.ts';
import { CreateResponseDto } from './nest-dto.ts';

class ResponsesController {
  create(request: CreateResponseDto): object {
    return toJsonAnswer(request);
  }
}

class AppModule {}

// Applied manually: Node strips types but does not support decorators.
const handler = Object.getOwnPropertyDescriptor(ResponsesController.prototype, 'create') ?? {};
Reflect.defineMetadata('design:paramtypes', [CreateResponseDto], ResponsesController.prototype, 'create');
Body()(ResponsesController.prototype, 'create', 0);
Post()(ResponsesController.prototype, 'create', handler);
HttpCode(200)(ResponsesController.prototype, 'create', handler);
Controller('v1/responses')(ResponsesController);
Module({ controllers: [ResponsesController] })(AppModule);

const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error'] });
app.useGlobalPipes(new ValidationPipe({ whitelist: true }));
await app.listen(process.env.PORT ?? '0', process.env.HOST ?? '127.0.0.1');
process.stdout.write(`The floor listens on ${await app.getUrl()}\n`);
