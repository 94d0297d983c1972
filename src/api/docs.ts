import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { errorStatus } from '../kernel/errors.ts';

const description = `Every list of rows is a page \`{events, cursor?}\`; the cursor is opaque and present only when the page filled its limit.
Every error has the body \`{"error": {"code", "message", "request_id", "details"?}}\`, and \`x-request-id\` repeats the id.
Scopes: a route names those of which any one is enough; \`:own\` narrows to what the caller created.`;

const docsPath = '/docs';

/** The page loads its own files and the document, and nothing from anywhere else. */
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** OpenAPI 3.1 from the schemas of the route table, and a page that shows it. Both are registered before the routes they collect. */
export async function registerDocs(app: FastifyInstance, publicBaseUrl: string | undefined): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Customhouse', version: '1', description },
      servers: [{ url: publicBaseUrl ?? '/' }],
      components: {
        securitySchemes: {
          session: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Session token of the identity provider' },
          api_key: { type: 'http', scheme: 'bearer', bearerFormat: 'ch_…', description: 'API key' },
          api_key_query: { type: 'apiKey', in: 'query', name: 'api_key', description: 'API key, on live streams only, for clients that cannot set headers' },
        },
        schemas: { Error: errorSchema },
      },
    },
    // One answer for every failure of every operation.
    transform: ({ schema, url }) => {
      const answers = (schema as { response?: Record<string, unknown> } | undefined)?.response ?? {};
      const failure = { description: 'An error', content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } };
      const querystring = withoutDefaults((schema as { querystring?: ObjectSchema } | undefined)?.querystring);
      return { schema: { ...schema, ...(querystring === undefined ? {} : { querystring }), response: { ...answers, default: failure } }, url };
    },
  });
  await app.register(swaggerUi, {
    routePrefix: docsPath,
    staticCSP: pagePolicy,
    theme: { title: 'Customhouse API' },
    // The bare layout: no bar with another project's logo and an address field.
    uiConfig: { layout: 'BaseLayout', deepLinking: true, docExpansion: 'list', persistAuthorization: false, validatorUrl: null },
  });
}

type ObjectSchema = { readonly properties: Readonly<Record<string, { readonly default?: unknown }>>; readonly required?: readonly string[] };

/** A parameter with a default is required in a handler's types, as validation fills it in; a caller may leave it out. */
function withoutDefaults(schema: ObjectSchema | undefined): ObjectSchema | undefined {
  return schema === undefined ? undefined : { ...schema, required: (schema.required ?? []).filter((name) => schema.properties[name]?.default === undefined) };
}

const text = { type: 'string' as const };

const errorSchema = {
  type: 'object' as const,
  required: ['error'],
  properties: {
    error: {
      type: 'object' as const,
      required: ['code', 'message', 'request_id'],
      properties: {
        code: { ...text, enum: Object.keys(errorStatus) },
        message: text,
        request_id: { ...text, description: 'The same as the x-request-id header' },
        details: { type: 'object' as const, description: 'A validation error has its problem per field at `fields`' },
      },
    },
  },
};
