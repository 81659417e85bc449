/**
 * A minimal Nest application on Fastify with a WebSocket gateway. In JavaScript, because stripping types would cost time and
 * memory.
 */
import 'reflect-metadata';

import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { WebSocketGateway } from '@nestjs/websockets';

class ModelsController {
  list() {
    return { object: 'list', data: [] };
  }
}

class ResponsesGateway {}

class AppModule {}

// Applied manually, because Node does not support decorators.
const handler = Object.getOwnPropertyDescriptor(ModelsController.prototype, 'list');
Get()(ModelsController.prototype, 'list', handler);
Controller('v1/models')(ModelsController);
WebSocketGateway({ path: '/v1/responses' })(ResponsesGateway);
Module({ controllers: [ModelsController], providers: [ResponsesGateway] })(AppModule);

const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error'] });
app.useWebSocketAdapter(new WsAdapter(app));
await app.listen(process.env.PORT, process.env.HOST);
process.stdout.write(`The empty app listens on ${await app.getUrl()}\n`);
