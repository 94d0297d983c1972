import type { Area } from '../support/area.ts';
import { countersWith, headersOnly, ruleWith, single, sse, transformsWith } from '../support/documents.ts';

const match = (expression: string) => ruleWith(`match: {expr: '${expression}'}`);
const header = (expression: string) => transformsWith(`header: {name: x-a, action: set, value: '${expression}'}`);
const value = (base: string, expression: string) => countersWith(base.replace(/^value: .*$/m, `value: '${expression}'`));
const stream = `${sse}terminal_event_type: done\n`;
const decides = (expression: string, requests: Readonly<Record<string, string>>) => ({ expression: { text: ruleWith(`name: one\nallow_insecure: true\nmethods: [GET, POST]\nmatch: {expr: '${expression}'}`), requests } });

export const celVariables: Area = {
  section: '2.7 CEL environments, variables',
  sentences: [
    {
      quote: 'A reference to a variable not declared in a phase\'s environment is rejected at save',
      accepted: { 'a variable of a macro is declared by it': match('request.query.exists(name, name == "a")') },
      rejected: {
        'that variable outside of the macro': match('request.query.exists(name, name == "a") && ‹undeclared_reference|undeclared reference: name›name == "a"'),
        'the whole request': match('‹undeclared_reference|undeclared reference: request›request == request.method'.replace(' == request.method', ' != dyn(1)')),
        'a part that does not exist': match('‹undeclared_reference|undeclared reference: request.cookies›request.cookies["a"] == "b"'),
        'in the branch that is not taken': match('true || ‹undeclared_reference|undeclared reference: foo›foo'),
      },
    },
    { quote: 'request.method: string, uppercase verb', accepted: { 'a string': match('request.method == "GET"') }, rejected: { 'no integer': match('request.method ‹cel_type›== 1') }, decided: decides('request.method == "GET"', { 'GET https://api.example.com/': 'one', 'POST https://api.example.com/': 'no_match' }) },
    { quote: 'request.path: string, without query string', accepted: { 'a string': match('request.path.endsWith("/a")') }, rejected: { 'no list': match('request.path‹cel_type›[0] == "a"') }, decided: decides('request.path == "/a"', { 'GET https://api.example.com/a?b': 'one', 'GET https://api.example.com/a/': 'no_match' }) },
    { quote: 'request.host: string, lowercase', accepted: { 'a string': match('request.host.contains("example")') }, rejected: { 'no boolean': ruleWith('match: {expr: ‹cel_result_type›request.host}') }, decided: decides('request.host == "api.example.com"', { 'GET https://api.example.com/': 'one' }) },
    { quote: 'request.scheme: string, `http` or `https`', accepted: { 'a string': match('request.scheme == "https"') }, rejected: { 'no boolean': match('‹cel_type›!request.scheme') }, decided: decides('request.scheme == "https"', { 'GET https://api.example.com/': 'one', 'GET http://api.example.com/': 'no_match' }) },
    {
      quote: 'request.headers: map<string,string>',
      accepted: { 'a key': match('request.headers["accept"] == "a"'), 'a key tested': match('"accept" in request.headers'), 'a field': match('has(request.headers.accept) && request.headers.accept == "a"') },
      rejected: { 'an index': match('request.headers‹cel_type›[1] == "a"'), 'a list inside': match('request.headers["a"] ‹cel_type›== ["b"]'), 'a number in it': match('1 ‹cel_type›in request.headers') },
    },
    { quote: 'request.raw_query: string, as on the wire, no leading `?`', accepted: { 'a string': match('request.raw_query == ""') }, rejected: { 'no map': match('request.raw_query‹cel_type›["a"] == "b"') }, decided: decides('request.raw_query == "a=%20b"', { 'GET https://api.example.com/?a=%20b': 'one', 'GET https://api.example.com/?a=+b': 'no_match' }) },
    {
      quote: 'request.query: map<string, list<string>>, decoded values',
      accepted: { 'a list': match('request.query["a"] == ["b"]'), 'an entry': match('request.query["a"][0] == "b"') },
      rejected: { 'a string': match('request.query["a"] ‹cel_type›== "b"'), 'a number in the list': match('request.query["a"][0] ‹cel_type›== 1') },
      decided: decides('request.query["a b"] == ["c d", ""]', { 'GET https://api.example.com/?a%20b=c+d&a+b=': 'one', 'GET https://api.example.com/?a%20b=c%2Bd&a+b=': 'no_match' }),
    },
    {
      quote: 'request.body: dyn or schema-typed, only when the phase opts into body',
      accepted: { 'dyn': transformsWith(`applies_to: [untyped]\nbody: {action: merge, value: '{"a": request.body.anything.at[0].all}'}`), 'typed': transformsWith(`applies_to: [typed]\nbody: {action: merge, value: '{"a": request.body.size + 1}'}`) },
      rejected: {
        'typed: a wrong operator': transformsWith(`applies_to: [typed]\nbody: {action: merge, value: '{"a": request.body.size ‹cel_type›+ "a"}'}`),
        'typed: a field that does not exist': transformsWith(`applies_to: [typed]\nbody: {action: merge, value: '{"a": ‹undeclared_reference|undeclared reference: request.body.other›request.body.other}'}`),
        'one of two rules is typed otherwise': transformsWith(`applies_to: [untyped, typed]\nbody: {action: merge, value: '{"a": ‹undeclared_reference|undeclared reference: request.body.other›request.body.other}'}`),
      },
    },
    { quote: 'response.status: int', accepted: { 'an int': value(headersOnly, 'response.status == 200 ? 1 : 0') }, rejected: { 'no string': value(headersOnly, 'response.status ‹cel_type›== "200" ? 1 : 0') } },
    { quote: 'response.headers: map<string,string>', accepted: { 'a value': value(headersOnly, 'int(response.headers["x-cost"])') }, rejected: { 'no int': value(headersOnly, 'response.headers["x-cost"] ‹cel_type›+ 1') } },
    { quote: 'response.size: int, bytes observed on the wire', accepted: { 'an int': value(headersOnly, 'response.size / 1024') }, rejected: { 'no double': value(headersOnly, 'response.size ‹cel_type›* 1.5') } },
    { quote: 'response.body: dyn; only for single_document body counters; rejected for SSE and header-only counters', accepted: { 'single_document': value(single, 'response.body.usage.total') }, rejected: { 'SSE': value(stream, '‹undeclared_reference|undeclared reference: response.body›response.body.usage.total'), 'header-only': value(headersOnly, '‹undeclared_reference|undeclared reference: response.body›response.body.usage.total') } },
    { quote: 'workspace.id, workspace.org_id, workspace.role, workspace.environment: string', accepted: { 'all': header('workspace.id + workspace.org_id + workspace.role + workspace.environment') }, rejected: { 'another one': header('‹undeclared_reference|undeclared reference: workspace.name›workspace.name'), 'no int': header('workspace.id ‹cel_type›+ 1') } },
    { quote: 'task.id: string', accepted: { 'a string': header('task.id') }, rejected: { 'another one': header('‹undeclared_reference|undeclared reference: task.description›task.description') } },
    { quote: 'secrets: map<string,string>; keys must be string literals', accepted: { 'a literal': header('secrets["a"]') }, rejected: { 'a variable': header('secrets[‹secret_key_not_literal›task.id]'), 'no int inside': header('secrets["a"] ‹cel_type›+ 1') } },
    { quote: 'event: map<string,dyn>; SSE counter value and `terminal_cel` only', accepted: { 'a field': value(stream, 'event.usage.tokens'), 'a key': value(stream, 'event["usage"].tokens'), 'tested': value(stream, 'has(event.usage) ? event.usage.tokens : 0') }, rejected: { 'an index': value(stream, 'event‹cel_type›[1].tokens'), 'one document': value(single, '‹undeclared_reference|undeclared reference: event›event.usage') } },
    { quote: 'Secret references resolve at proxy activation, not at parse time', accepted: { 'a secret nobody has': header('secrets["no-such-secret"]') }, oneSided: 'nothing is rejected for a secret that is not there' },
  ],
};
