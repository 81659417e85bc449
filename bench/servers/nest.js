/**
 * Nest applications on Fastify, in JavaScript, because stripping types would cost time and memory. By default an empty one with a list and
 * a WebSocket gateway; with `FLOOR=json` one controller, whose body Nest's ValidationPipe validates, which sends the same Response as
 * the service and saves nothing. Decorators are applied manually, because Node does not support them.
 */
import 'reflect-metadata';

import { Body, Controller, Get, HttpCode, Module, Post, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { WebSocketGateway } from '@nestjs/websockets';

class AppModule {}

function makeEmpty() {
  class ModelsController {
    list() {
      return { object: 'list', data: [] };
    }
  }
  class ResponsesGateway {}
  Get()(ModelsController.prototype, 'list', descriptorOf(ModelsController, 'list'));
  Controller('v1/models')(ModelsController);
  WebSocketGateway({ path: '/v1/responses' })(ResponsesGateway);
  Module({ controllers: [ModelsController], providers: [ResponsesGateway] })(AppModule);
}

async function makeValidating() {
  const { toJsonAnswer } = await import('./answer.ts');
  const { IsBoolean, IsInt, IsNumber, IsObject, IsOptional, IsString, Max, Min } = await import('class-validator');
  class CreateResponse {}
  const rules = {
    model: [IsString()],
    input: [IsString()],
    instructions: [IsOptional(), IsString()],
    previous_response_id: [IsOptional(), IsString()],
    stream: [IsOptional(), IsBoolean()],
    stream_options: [IsOptional(), IsObject()],
    store: [IsOptional(), IsBoolean()],
    metadata: [IsObject()],
    temperature: [IsOptional(), IsNumber(), Min(0), Max(2)],
    top_p: [IsOptional(), IsNumber(), Min(0), Max(1)],
    max_output_tokens: [IsOptional(), IsInt(), Min(16)],
  };
  for (const [name, decorators] of Object.entries(rules))
    for (const decorate of decorators) decorate(CreateResponse.prototype, name);

  class ResponsesController {
    create(request) {
      return toJsonAnswer(request);
    }
  }
  Reflect.defineMetadata('design:paramtypes', [CreateResponse], ResponsesController.prototype, 'create');
  Body()(ResponsesController.prototype, 'create', 0);
  Post()(ResponsesController.prototype, 'create', descriptorOf(ResponsesController, 'create'));
  HttpCode(200)(ResponsesController.prototype, 'create', descriptorOf(ResponsesController, 'create'));
  Controller('v1/responses')(ResponsesController);
  Module({ controllers: [ResponsesController] })(AppModule);
}

function descriptorOf(type, method) {
  return Object.getOwnPropertyDescriptor(type.prototype, method);
}

const isValidating = process.env.FLOOR === 'json';
if (isValidating) await makeValidating();
else makeEmpty();
const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error'] });
if (isValidating) app.useGlobalPipes(new ValidationPipe({ whitelist: true }));
else app.useWebSocketAdapter(new WsAdapter(app));
await app.listen(process.env.PORT, process.env.HOST);
process.stdout.write(`The application listens on ${await app.getUrl()}\n`);
