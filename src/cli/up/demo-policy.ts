/** Secret of the demo org that its policy puts into requests. Made up: the address it is sent to does not exist. */
export const demoSecretName = 'llm_api_key';

/** `caps.yaml` of the demo org's roles: something to read, something to pay for, and an injected secret. */
export const demoCaps = `# What the demo agents may do. Everything else is denied and recorded.
- name: web
  type: http
  allow:
    - name: read-example
      domains: [example.com, www.example.com]
      methods: [GET, HEAD]
      allow_insecure: true
  transforms:
    - name: say-who
      header: {name: x-agent-role, action: set, value: workspace.role}
  budgets:
    counters:
      - name: pages
        source: request.count
        workspace: {max: 1000, ttl: 1h}

- name: llm
  type: http
  allow:
    - name: chat
      domains: [api.llm.example.com]
      methods: [POST]
      paths: [/v1/chat/completions]
      request_format: application/json
      request_schema:
        type: object
        required: [model, messages]
        properties:
          model: {type: string}
          messages: {type: array, minItems: 1}
          stream: {const: false}
  transforms:
    - name: key
      header: {name: Authorization, action: set, value: '"Bearer " + secrets["${demoSecretName}"]'}
    - name: uncompressed
      header: {name: Accept-Encoding, action: set, value: '"identity"'}
  budgets:
    counters:
      - name: requests
        source: request.count
        max_concurrent: 4
        workspace: {max: 500, ttl: 24h}
      - name: tokens
        source: response
        requires_body: true
        framing: single_document
        format: application/json
        encoding: identity
        value: int(response.body.usage.total_tokens)
        status_codes: [2xx]
        accumulator: last
        reserve_per_request: 2000
        failure_charge: 500
        workspace: {max: 200000, ttl: 24h}
        task: {max: 50000, ttl: 1h}
`;
