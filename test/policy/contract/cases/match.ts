import type { Area } from '../support/area.ts';
import { ruleWith } from '../support/documents.ts';

const post = 'name: one\nmethods: [POST]\nrequest_format: application/json';

export const match: Area = {
  section: '2.7 AllowRule, match',
  sentences: [
    {
      quote: 'match: object `{expr, requires_body}`',
      accepted: { 'both': ruleWith('match: {expr: "true", requires_body: false}'), 'expr alone': ruleWith('match: {expr: "true"}') },
      rejected: {
        'a text': ruleWith('match: ‹wrong_type›request.method == "GET"'),
        'a list': ruleWith('match: ‹wrong_type›[{expr: "true"}]'),
        'null': ruleWith('match: ‹wrong_type›null'),
        'no expr': ruleWith('match: ‹missing_field›{requires_body: false}'),
        'a further field': ruleWith('match: {expr: "true", ‹unknown_field›require_body: true}'),
        'expr is a boolean of YAML': ruleWith('match: {expr: ‹wrong_type›true}'),
        'requires_body is a text': ruleWith('match: {expr: "true", requires_body: ‹wrong_type›"no"}'),
      },
    },
    {
      quote: 'match: `expr` is a boolean CEL expression',
      accepted: {
        'a comparison': ruleWith('match: {expr: request.method == "GET"}'),
        'a macro': ruleWith(`match: {expr: 'request.query.exists(k, k == "q")'}`),
        'a value only known at run time': ruleWith('methods: [POST]\nrequest_format: application/json\nmatch: {expr: request.body.ok, requires_body: true}'),
      },
      rejected: {
        'a string': ruleWith('match: {expr: ‹cel_result_type›request.method}'),
        'an integer': ruleWith('match: {expr: ‹cel_result_type›size(request.path)}'),
        'a list': ruleWith('match: {expr: "‹cel_result_type›[true]"}'),
        'empty': ruleWith('match: {expr: "‹cel_syntax›"}'),
      },
    },
    {
      quote: 'match: ANDed with the static criteria',
      oneSided: 'says what a request needs; see the decisions',
      decided: {
        'criteria and expression': {
          text: ruleWith(`name: one\npaths: [/a]\nmatch: {expr: 'request.raw_query == "x=1"'}`),
          requests: { 'GET https://api.example.com/a?x=1': 'one', 'GET https://api.example.com/a?x=2': 'no_match', 'GET https://api.example.com/b?x=1': 'no_match' },
        },
      },
    },
    {
      quote: 'match: `requires_body` default false',
      accepted: { 'false, like absent, needs no request_format': ruleWith('match: {expr: "true", requires_body: false}') },
      rejected: { 'absent: no body': ruleWith(`${post}\nmatch: {expr: ‹undeclared_reference|undeclared reference: request.body›request.body.ok}`) },
    },
    {
      quote: 'match: False: evaluated at admission with headers, query, method and path only',
      accepted: { 'all four': ruleWith(`match: {expr: '"x-a" in request.headers && "q" in request.query && request.method == "GET" && request.path == "/"'}`) },
      rejected: { 'nothing of the response': ruleWith('match: {expr: ‹undeclared_reference|undeclared reference: response.status›response.status == 200}') },
    },
    {
      quote: 'match: True: evaluated at the body phase with `request.body` in scope',
      accepted: { 'the body in scope': ruleWith(`${post}\nmatch: {expr: request.body.ok == true, requires_body: true}`), 'not using it is fine': ruleWith(`${post}\nmatch: {expr: request.method == "POST", requires_body: true}`) },
      rejected: { 'without a format': ruleWith('methods: [POST]\nmatch: {expr: request.body.ok == true, requires_body: ‹request_format_required›true}') },
      decided: {
        'the body decides': {
          text: ruleWith(`${post}\nmatch: {expr: request.body.ok == true, requires_body: true}`),
          requests: {
            'POST https://api.example.com/ | application/json | {"ok": true}': 'one',
            'POST https://api.example.com/ | application/json | {"ok": false}': 'no_match',
            'POST https://api.example.com/ | application/json | {"ok": "yes"}': 'no_match',
            'POST https://api.example.com/ | application/json | {}': 'policy_error',
            'POST https://api.example.com/ | text/plain | {"ok": true}': 'format_mismatch',
          },
        },
        'typed by the schema': {
          text: ruleWith(`${post}\nrequest_schema: {type: object, required: [n], properties: {n: {type: integer}}}\nmatch: {expr: request.body.n > 3, requires_body: true}`),
          requests: { 'POST https://api.example.com/ | application/json | {"n": 4}': 'one', 'POST https://api.example.com/ | application/json | {"n": 3}': 'no_match', 'POST https://api.example.com/ | application/json | {"n": "4"}': 'schema_violation' },
        },
      },
    },
    {
      quote: 'match: using `request.body` in a predicate without `requires_body: true` is rejected at save',
      accepted: { 'with it': ruleWith(`${post}\nmatch: {expr: has(request.body.ok), requires_body: true}`) },
      rejected: {
        'absent': ruleWith(`${post}\nmatch: {expr: ‹undeclared_reference|undeclared reference: request.body›request.body.ok == true}`),
        'false': ruleWith(`${post}\nmatch: {expr: ‹undeclared_reference|undeclared reference: request.body›request.body.ok == true, requires_body: false}`),
        'inside has()': ruleWith(`${post}\nmatch: {expr: has(‹undeclared_reference|undeclared reference: request.body›request.body.ok)}`),
        'through an index': ruleWith(`${post}\nmatch: {expr: '‹undeclared_reference|undeclared reference: request.body›request.body["ok"] == true'}`),
        'through the whole request': ruleWith(`${post}\nmatch: {expr: dyn(‹undeclared_reference|undeclared reference: request›request).body.ok == true}`),
      },
    },
  ],
};
