import Type from 'typebox';
import { definePublicRoute, jsonAnswer } from '../route.ts';
import type { RouteFactory } from '../route.ts';

/** `GET /openapi.json`: OpenAPI 3.1, made once from the schemas of the routes. */
export const openapi: RouteFactory = () => definePublicRoute(
  { summary: 'This document', response: { 200: jsonAnswer('OpenAPI 3.1', Type.Object({}, { additionalProperties: true })) } },
  ({ request, reply }) => {
    reply.header('cache-control', 'public, max-age=300');
    return request.server.swagger();
  },
);
