import type { Area } from '../support/area.ts';
import { countersWith, single, sse } from '../support/documents.ts';

const stream = (fields: string) => countersWith(`${sse}${fields}`);

export const terminators: Area = {
  section: '2.7 Budget counter, terminators',
  sentences: [
    {
      quote: 'terminal_event_type: required for `framing: sse` with `requires_body: true`; for `framing: sse` exactly one of terminal_event_type / terminal_sentinel / terminal_cel',
      accepted: { 'an event type': stream('terminal_event_type: done'), 'a sentinel': stream('terminal_sentinel: "[DONE]"'), 'an expression': stream('terminal_cel: event.done == true') },
      rejected: {
        'none': countersWith(`‹terminator_required›${sse}`),
        'empty ones, which are none': countersWith(`‹terminator_required›${sse}terminal_event_type: ""\nterminal_sentinel: ""`),
      },
    },
    {
      quote: 'At most one terminator per counter',
      accepted: { 'one, and an empty one': stream('terminal_event_type: done\nterminal_sentinel: ""') },
      rejected: {
        'type and sentinel': stream('terminal_event_type: done\n‹too_many_terminators›terminal_sentinel: "[DONE]"'),
        'type and expression': stream('terminal_event_type: done\n‹too_many_terminators›terminal_cel: event.done == true'),
        'all three': stream('terminal_event_type: done\n‹too_many_terminators›terminal_sentinel: "[DONE]"\nterminal_cel: event.done == true'),
        'on one document': countersWith(`${single}‹!field_has_no_effect›terminal_event_type: done\n‹too_many_terminators›‹!field_has_no_effect›terminal_sentinel: "[DONE]"`),
      },
    },
    {
      quote: 'terminators on a counter that reads one document',
      accepted: { 'without effect': countersWith(`${single}‹!field_has_no_effect›terminal_event_type: done`) },
      rejected: { 'an expression over events that do not exist is still checked': countersWith(`${single}‹!field_has_no_effect›terminal_cel: ‹cel_result_type›response.size`) },
    },
    { quote: 'terminal_event_type: string', accepted: { 'a text': stream('terminal_event_type: message_stop') }, rejected: { 'a number': stream('terminal_event_type: ‹wrong_type›1'), 'null': stream('terminal_event_type: ‹wrong_type›null') } },
    { quote: 'terminal_sentinel: literal marking the end of the stream', accepted: { 'any text': stream('terminal_sentinel: "event: end"') }, rejected: { 'a list, unquoted': stream('terminal_sentinel: ‹wrong_type›[DONE]') } },
    {
      quote: 'terminal_cel: CEL bool over the SSE event',
      accepted: { 'the event': stream('terminal_cel: has(event.state) && event.state == "finished"'), 'a value only known at run time': stream('terminal_cel: event.done') },
      rejected: {
        'an integer': stream('terminal_cel: ‹cel_result_type›size(event)'),
        'undeclared': stream('terminal_cel: ‹undeclared_reference|undeclared reference: data›data == "[DONE]"'),
        'a boolean of YAML': stream('terminal_cel: ‹wrong_type›true'),
        'no CEL': stream('terminal_cel: event.done ‹cel_syntax›=='),
      },
    },
  ],
};
