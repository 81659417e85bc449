/**
 * The least that an application of Nest on Fastify with a WebSocket gateway is. In JavaScript, because Node would need time and
 * memory to strip types.
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

// By hand: Node knows no decorators.
const handler = Object.getOwnPropertyDescriptor(ModelsController.prototype, 'list');
Get()(ModelsController.prototype, 'list', handler);
Controller('v1/models')(ModelsController);
WebSocketGateway({ path: '/v1/responses' })(ResponsesGateway);
Module({ controllers: [ModelsController], providers: [ResponsesGateway] })(AppModule);

const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error'] });
app.useWebSocketAdapter(new WsAdapter(app));
await app.listen(process.env.PORT, process.env.HOST);
process.stdout.write(`The empty app listens on ${await app.getUrl()}\n`);
